package riffle

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

// taggedDoc has values with rules.
type taggedDoc struct {
	Secret string `riffle:"secret,noindex,nostore"`
	URL    string `riffle:"url,keyword"`
}

// newJSONBatch has every kind of change and value.
func newJSONBatch() *Batch {
	b := new(Batch)
	b.Put("moby", map[string]any{"title": `Moby "Dick" <1>`, "author": map[string]any{"name": "Melville"}, "tags": []string{"whale", "sea"}, "year": 1851})
	b.Put("kinds", map[string]any{"f": 0.25, "big": int64(1<<63 - 1), "huge": 1e300, "yes": true, "at": time.Date(1851, 10, 18, 1, 2, 3, 4, time.UTC), "empty": "", "mixed": []any{1, "x", false}})
	b.Put("raw\xff", map[string]any{"raw": "a\xff\x00b"})
	b.Put("tagged", taggedDoc{"hunter2", "https://example.com/a"})
	b.Put("none", map[string]any{})
	b.Delete("nautilus")
	b.Delete("\xfe")
	return b
}

// TestBatchJSON: after a round trip through JSON a batch has the same changes, and so the same
// effect.
func TestBatchJSON(t *testing.T) {
	b := newJSONBatch()
	data, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"author.name":"Melville"`, `"tags":["whale","sea"]`, `"year":1851`, `"at":{"time":"1851-10-18T01:02:03.000000004Z"}`,
		`"mixed":[1,"x",false]`, `{"put":{"bytes":"cmF3/w=="},"fields":{"raw":{"bytes":"Yf8AYg=="}}}`,
		`"secret":{"value":"hunter2","noindex":true,"nostore":true}`, `"url":{"value":"https://example.com/a","keyword":true}`,
		`{"put":"none","fields":{}}`, `{"delete":"nautilus"},{"delete":{"bytes":"/g=="}}]`,
	} {
		if !strings.Contains(string(data), want) {
			t.Errorf("%s\nlacks %s", data, want)
		}
	}
	back := new(Batch)
	if err := json.Unmarshal(data, back); err != nil {
		t.Fatal(err)
	}
	if b.Size() != back.Size() || b.Len() != back.Len() {
		t.Errorf("%d changes of %d bytes, want %d of %d", back.Len(), back.Size(), b.Len(), b.Size())
	}
	var docs [2]map[string]map[string]any
	for i, b := range []*Batch{b, back} {
		ix := newIndex(t, nil)
		ix.must(ix.Apply(t.Context(), b))
		docs[i] = map[string]map[string]any{}
		for _, id := range []string{"moby", "kinds", "raw\xff", "tagged", "none"} {
			fields, err := ix.Get(t.Context(), id)
			ix.must(err)
			docs[i][id] = fields
		}
		if n, err := ix.Count(t.Context(), Term{"url", "https://example.com/a"}); n != 1 || err != nil {
			t.Errorf("the keyword: %d %v", n, err)
		}
	}
	if !reflect.DeepEqual(docs[0], docs[1]) {
		t.Errorf("%v\nwant %v", docs[1], docs[0])
	}
	if data, err := json.Marshal(Batch{}); err != nil || string(data) != "[]" {
		t.Errorf("an empty batch: %s %v", data, err)
	}
	b.Position = []byte("\x00seven")
	if data, err = json.Marshal(b); err != nil || !strings.HasPrefix(string(data), `{"position":"AHNldmVu","changes":[{"put":"moby",`) {
		t.Errorf("with a position: %s %v", data, err)
	}
	if err := json.Unmarshal(append([]byte(" \n"), data...), back); err != nil || string(back.Position) != "\x00seven" || back.Len() != b.Len() {
		t.Errorf("read back: position %q, %d changes, %v", back.Position, back.Len(), err)
	}
	if data, err := json.Marshal(Batch{Position: []byte("x")}); err != nil || string(data) != `{"position":"eA==","changes":[]}` {
		t.Errorf("a position alone: %s %v", data, err)
	}
	if data, err := json.Marshal(Batch{Position: make([]byte, MaxPositionBytes+1)}); err == nil {
		t.Errorf("a position that Apply refuses: %.20s", data)
	}
	var refused Batch
	refused.Put("", nil)
	if data, err := json.Marshal(&refused); err == nil {
		t.Errorf("a batch that Apply refuses: %s", data)
	}
}

func TestBatchJSONErrors(t *testing.T) {
	var b Batch
	b.Delete("kept")
	for _, c := range []struct{ form, want string }{
		{`{}`, `riffle: batch: an object without a "position"`},
		{`{"position":"","changes":[]}`, `an object without a "position"`},
		{`{"position":"!"}`, "illegal base64"},
		{`{"position":"eA==","changes":{}}`, "cannot unmarshal object"},
		{`{"position":"eA==","changes":[{}]}`, "change 0: a change is"},
		{`{"position":"eA==","ops":[]}`, `unknown field "ops"`},
		{`{"position":"` + strings.Repeat("AAAA", MaxPositionBytes/3+1) + `"}`, "at most 1024 are allowed"},
		{`[{"put":"a","fields":{}},{}]`, "change 1: a change is"},
		{`[{"put":"a","delete":"b"}]`, "a change is"},
		{`[{"delete":"a","fields":{}}]`, "a change is"},
		{`[{"put":"a","doc":{}}]`, `unknown field "doc"`},
		{`[{"put":5}]`, "an id is a text"},
		{`[{"put":""}]`, "an id must not be empty"},
		{`[{"put":"a","fields":[]}]`, `"fields" is no object`},
		{`[{"put":"a","fields":{"x":null}}]`, `field "x": an object is a value`},
		{`[{"put":"a","fields":{"x":{"a":1}}}]`, `unknown field "a"`},
		{`[{"put":"a","fields":{"x":{"value":{"a":1}}}}]`, "a value is a text, a number or a boolean"},
		{`[{"put":"a","fields":{"x":[[1]]}}]`, "a value is a text, a number or a boolean"},
		{`[{"put":"a","fields":{"x":{"value":1,"time":"2024-01-01T00:00:00Z"}}}]`, "with one of"},
		{`[{"put":"a","fields":{"x":1e999}}]`, "a value is a text, a number or a boolean"},
		{`[{"put":"a","fields":{"":1}}]`, "a field needs a name"},
	} {
		if err := json.Unmarshal([]byte(c.form), &b); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.form, err, c.want)
		}
	}
	if b.Len() != 1 {
		t.Errorf("%d changes are left of one", b.Len())
	}
}

// FuzzBatchJSON: a batch that was read is written so that it reads the same again.
func FuzzBatchJSON(f *testing.F) {
	data, err := json.Marshal(newJSONBatch())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"position":"eA==","changes":[{"delete":"a"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var b, again Batch
		if json.Unmarshal(data, &b) != nil {
			return
		}
		form, err := json.Marshal(&b)
		if err != nil {
			return // a year that RFC 3339 cannot express
		}
		if err := json.Unmarshal(form, &again); err != nil {
			t.Fatalf("%s: %v", form, err)
		}
		if twice, err := json.Marshal(&again); err != nil || string(twice) != string(form) {
			t.Errorf("%s became %s, %v", form, twice, err)
		}
	})
}
