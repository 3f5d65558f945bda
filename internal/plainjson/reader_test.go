package plainjson

import (
	"bytes"
	"encoding/json"
	"reflect"
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

// wanted are texts, and whether they are plain.
var wanted = map[string]bool{
	`{}`: true, " {\t}\n": true, `{"S":"a"}`: true, `{"S":"é😀","N":-0,"B":true,"L":[],"R":{}}`: true, ` { "N" : 12 , "L" : [ "a" , "b" ] , "B" : false } `: true,
	`{"N":999999999999999999}`: true, `{"N":-999999999999999999}`: true, `{"R":{"a":[{"b":"}\"{"}]}}`: true,
	``: false, `[]`: false, `{`: false, `{}}`: false, `{} 1`: false, `{"S":"a",}`: false, `{"S":"a" "N":1}`: false, `{"S":"a\n"}`: false, "{\"S\":\"a\x01\"}": false, "{\"S\":\"\xff\"}": false,
	`{"s":"a"}`: false, `{"S":null}`: false, `{"S":"a","S":"b"}`: false, `{"X":1}`: false, `{"S":"a`: false, `{"S":1}`: false,
	`{"N":01}`: false, `{"N":1.0}`: false, `{"N":1e2}`: false, `{"N":- 1}`: false, `{"N":-}`: false, `{"N":}`: false, `{"N":1000000000000000000}`: false, `{"N":"1"}`: false, `{"N":1x}`: false, `{"N":+1}`: false,
	`{"B":tru}`: false, `{"B":truefalse}`: false, `{"B":TRUE}`: false, `{"L":["a",]}`: false, `{"L":["a"}`: false, `{"L":[1]}`: false, `{"L":"a"}`: false, `{"L":[,]}`: false,
	`{"R":{]}}`: false, `{"R":[]}`: false, `{"R":{"a}}`: false, `{"R":{"a":}}`: false, `{"R":{"\`: false,
}

func TestReader(t *testing.T) {
	for text, want := range wanted {
		if got := check(t, []byte(text)); got != want {
			t.Errorf("%q is plain: %v, want %v", text, got, want)
		}
	}
}

func FuzzReader(f *testing.F) {
	for text := range wanted {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) { check(t, data) })
}
