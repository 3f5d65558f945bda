package plainjson

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"testing"
)

// A plain is what the tests read: a member of each kind.
type plain struct {
	S string
	N int
	B bool
	L []string
	R json.RawMessage
}

// read reads a plain with a Reader.
func read(data []byte) (p plain, ok bool) {
	r, seen := NewReader(data), map[string]bool{}
	ok = r.Object(func(name []byte) (ok bool) {
		if seen[string(name)] {
			return false
		}
		seen[string(name)] = true
		switch string(name) {
		case "S":
			p.S, ok = r.String()
		case "N":
			p.N, ok = r.Int()
		case "B":
			p.B, ok = r.Bool()
		case "L":
			p.L, ok = r.Strings()
		case "R":
			if p.R, ok = r.Raw(); ok {
				ok = json.Valid(p.R)
			}
		}
		return ok
	})
	return p, ok && r.End()
}

// check compares a Reader with encoding/json, and says whether it has read the text.
func check(t *testing.T, data []byte) bool {
	got, ok := read(data)
	if !ok {
		return false
	}
	var want plain
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&want); err != nil {
		t.Fatalf("%q is read, but %v", data, err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%q is read as %+v, want %+v", data, got, want)
	}
	return true
}

// plainTexts are read by a Reader, oddTexts are not.
var (
	plainTexts = []string{
		`{}`, " {\t}\n", `{"S":"a"}`, `{"S":"é😀","N":-0,"B":true,"L":[],"R":{}}`,
		` { "N" : 12 , "L" : [ "a" , "b" ] , "B" : false } `, `{"N":999999999999999999}`,
		`{"N":-999999999999999999}`, `{"R":{"a":[{"b":"}\"{"}]}}`,
	}
	oddTexts = []string{
		``, `[]`, `{`, `{}}`, `{} 1`, `{"S":"a",}`, `{"S":"a" "N":1}`, `{"S":"a\n"}`,
		"{\"S\":\"a\x01\"}", "{\"S\":\"\xff\"}", `{"s":"a"}`, `{"S":null}`, `{"S":"a","S":"b"}`,
		`{"X":1}`, `{"S":"a`, `{"S":1}`, `{"N":01}`, `{"N":1.0}`, `{"N":1e2}`, `{"N":- 1}`, `{"N":-}`,
		`{"N":}`, `{"N":1000000000000000000}`, `{"N":"1"}`, `{"N":1x}`, `{"N":+1}`, `{"B":tru}`,
		`{"B":truefalse}`, `{"B":TRUE}`, `{"L":["a",]}`, `{"L":["a"}`, `{"L":[1]}`, `{"L":"a"}`,
		`{"L":[,]}`, `{"R":{]}}`, `{"R":[]}`, `{"R":{"a}}`, `{"R":{"a":}}`, `{"R":{"\`,
	}
)

func TestReader(t *testing.T) {
	for _, text := range plainTexts {
		if !check(t, []byte(text)) {
			t.Errorf("%q is not read, though it is plain", text)
		}
	}
	for _, text := range oddTexts {
		if check(t, []byte(text)) {
			t.Errorf("%q is read, though it is not plain", text)
		}
	}
}

func FuzzReader(f *testing.F) {
	for _, text := range slices.Concat(plainTexts, oddTexts) {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) { check(t, data) })
}
