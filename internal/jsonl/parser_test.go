package jsonl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		// The example of the package comment.
		{`{"id": 7, "title": "Emma", "book": {"year": 1815, "tags": ["novel"]}, "note": null}`,
			`"7" title="Emma" book.year=1815 book.tags=["novel"]`},

		{`{"id":"a"}`, `"a"`},
		{" {\t\"id\" : \"a\" , \"x\" : true , \"y\" : false }\r", `"a" x=true y=false`},
		{`{"x":"before","id":"a","z":"behind"}`, `"a" x="before" z="behind"`},
		{`{"\u0069d":"a"}`, `"a"`},
		{`{"id":"a","o":{"id":"inner"},"ID":"other"}`, `"a" o.id="inner" ID="other"`},
		{`{"id":"a","o":{},"p":{"q":{}}}`, `"a"`},

		{`{"id":-12345678901234567890123}`, `"-12345678901234567890123"`},
		{`{"id":"a","n":9223372036854775807,"m":-9223372036854775808,"z":-0}`, `"a" n=9223372036854775807 m=-9223372036854775808 z=0`},
		{`{"id":"a","n":9223372036854775808,"m":18446744073709551615,"o":18446744073709551616}`, `"a" n=9223372036854775808 m=18446744073709551615 o=1.8446744073709552e+19`},
		{`{"id":"a","n":1.5,"m":1e2,"o":-0.0,"p":2E-1}`, `"a" n=1.5e+00 m=1e+02 o=-0e+00 p=2e-01`},

		{`{"id":"a","t":[]}`, `"a" t=[]`},
		{`{"id":"a","t":[ "x" , null , "y" ]}`, `"a" t=["x" "y"]`},
		{`{"id":"a","t":[1, 2.5, null, -3]}`, `"a" t=[1 2.5 -3]`},
		{`{"id":"a","t":["x", true, "y", 7, false]}`, `"a" t=[x true y 7 false]`},

		{`{"id":"a","t":"q\" b\\ s\/ \b\f\n\r\t é \u00e9 \u2019 \ud83d\ude00"}`, `"a" t="q\" b\\ s/ \b\f\n\r\t é é ’ 😀"`},
		{`{"id":"a","t":"\ud800"}`, `"a" t="�"`},
		{`{"id":"a","t":"\ud800\u0041\udc00x\ud800\ud800\udc00"}`, `"a" t="�A�x�𐀀"`},
		{`{"id":"a","t":"\u0000"}`, `"a" t="\x00"`},
		{"{\"id\":\"a\",\"t\":\"\xff\xc3(\xed\xa0\x80\xe2\x82\"}", `"a" t="��(�����"`},
		{"{\"id\":\"a\",\"t\":\"\x7f 日本語\"}", `"a" t="\x7f 日本語"`},
	} {
		var d Document
		if err := new(Parser).Parse([]byte(c.line), &d); err != nil || show(&d) != c.want {
			t.Errorf("%s\n got %s, %v\nwant %s", c.line, show(&d), err, c.want)
		}
	}
}

// show prints a document in a form that distinguishes kinds: floats have an exponent.
func show(d *Document) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q", d.ID)
	for _, f := range d.Fields {
		switch v := f.Value.(type) {
		case float64:
			fmt.Fprintf(&b, " %s=%s", f.Name, strconv.FormatFloat(v, 'e', -1, 64))
		case string, []string:
			fmt.Fprintf(&b, " %s=%q", f.Name, v)
		default:
			fmt.Fprintf(&b, " %s=%v", f.Name, v)
		}
	}
	return b.String()
}

func TestParseErrors(t *testing.T) {
	nested := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	long := strings.Repeat("n", MaxNameBytes)
	for _, c := range []struct{ line, want string }{
		{`{"id":"b","text":`, `18: the line ends where a value should be`},
		{`{"id":`, `7: the line ends where a value should be`},
		{`{"id":"b"`, `10: the line ends where ',' or '}' should be`},
		{`{"id":"b`, `9: the line ends where the end of a string should be`},
		{`{"id":"b","t":"x\`, `18: the line ends where an escape should be`},
		{`{"id":"b","t":["x"`, `19: the line ends where ',' or ']' should be`},
		{`{"id":"b","t":[`, `16: the line ends where a string, a number or a boolean should be`},
		{`{`, `2: the line ends where a name in double quotes should be`},
		{`["id"]`, `1: found '[', want an object`},
		{`"id"`, `1: found '"', want an object`},
		{"\x00", `1: found byte 0x00, want an object`},
		{`{"id":"b"} x`, `12: found 'x', want the end of the line`},
		{`{"id":"b"}{"id":"c"}`, `11: found '{', want the end of the line`},
		{`{id:"b"}`, `2: found 'i', want a name in double quotes`},
		{`{"id":"b",}`, `11: found '}', want a name in double quotes`},
		{`{"id" "b"}`, `7: found '"', want ':'`},
		{`{"id":"b","t":tru}`, `18: found '}', want true`},
		{`{"id":"b","t":nul`, `18: the line ends where null should be`},
		{`{"id":"b","t":NaN}`, `15: found 'N', want a value`},
		{`{"id":"b","t":'x'}`, `15: found '\'', want a value`},
		{`{"id":"b","t":"\x"}`, `17: found 'x', want an escape`},
		{`{"id":"b","t":"\u12g4"}`, `16: want four hexadecimal digits behind \u`},
		{"{\"id\":\"b\",\"t\":\"a\tb\"}", `17: control character 0x09 in a string`},

		{`{"id":"b","t":01}`, `16: found '1', want ',' or '}'`},
		{`{"id":"b","t":+1}`, `15: found '+', want a value`},
		{`{"id":"b","t":-}`, `16: found '}', want a digit`},
		{`{"id":"b","t":1.}`, `17: found '}', want a digit`},
		{`{"id":"b","t":.5}`, `15: found '.', want a value`},
		{`{"id":"b","t":1e+}`, `18: found '}', want a digit`},
		{`{"id":"b","t":1e999}`, `15: 1e999 is beyond the range of a float64`},

		{`{}`, `no "id"`},
		{`{"text":"x"}`, `no "id"`},
		{`{"o":{"id":"x"}}`, `no "id"`},
		{`{"id":""}`, `7: "id" is empty`},
		{`{"id":null}`, `7: "id" must be a string or an integer`},
		{`{"id":["x"]}`, `7: "id" must be a string or an integer`},
		{`{"id":1.5}`, `7: "id" is 1.5, want a string or an integer`},

		{`{"id":"b","id":"b"}`, `11: "id" is there twice`},
		{`{"id":"b","t":null,"t":"x"}`, `20: "t" is there twice`},
		{`{"id":"b","o":{"t":1},"o":{"u":1}}`, `23: "o" is there twice`},
		{`{"id":"b","o":{"t":1},"o.t":1}`, `23: "o.t" is there twice`},
		{`{"id":"b","":1}`, `11: empty name`},
		{`{"id":"b","t":["x",1,{}]}`, `22: the array "t" may hold strings, numbers and booleans, no arrays or objects`},
		{`{"id":"b","t":[["x"]]}`, `16: the array "t" may hold strings, numbers and booleans, no arrays or objects`},
		{`{"id":"b","t":[1,]}`, `18: found ']', want a string, a number or a boolean`},
		{`{"id":"b","t":[1e999]}`, `16: 1e999 is beyond the range of a float64`},

		{`{"id":"b","t":` + nested(MaxDepth) + `}`, `170: objects nested deeper than 32`},
		{`{"id":"b","` + long + `n":1}`, `11: name longer than 1024 bytes`},
		{`{"id":"b","o":{"` + long[:1023] + `":1}}`, `16: name longer than 1024 bytes`},
	} {
		var d Document
		err := new(Parser).Parse([]byte(c.line), &d)
		if want := ":0:" + c.want; err == nil || strings.Replace(err.Error(), ":0: ", ":0:", 1) != want {
			t.Errorf("%.80q\n got %v\nwant %s", c.line, err, want)
		}
	}
}

// TestLimits tests the parser with the largest lines allowed.
func TestLimits(t *testing.T) {
	var names strings.Builder
	for i := range MaxFields - 1 {
		fmt.Fprintf(&names, `,"f%d":%d`, i, i)
	}
	var elements strings.Builder
	for range MaxElements - 1 {
		elements.WriteString(`"",`)
	}
	for _, c := range []struct {
		name, good, bad string
	}{
		{"names", `{"id":"a"` + names.String() + `}`, `{"id":"a"` + names.String() + `,"more":1}`},
		{"elements", `{"id":"a","t":[` + elements.String() + `""]}`, `{"id":"a","t":[` + elements.String() + `""],"u":[""]}`},
		{"depth", `{"id":"a","t":` + strings.Repeat(`{"a":`, MaxDepth-1) + "1" + strings.Repeat("}", MaxDepth),
			`{"id":"a","t":` + strings.Repeat(`{"a":`, MaxDepth) + "1" + strings.Repeat("}", MaxDepth+1)},
	} {
		var d Document
		var p Parser
		if err := p.Parse([]byte(c.good), &d); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if err := p.Parse([]byte(c.bad), &d); err == nil {
			t.Errorf("%s: one more was accepted", c.name)
		}
	}
	if err := new(Parser).Parse([]byte(`{"id":"a"`+names.String()[:len(names.String())/2]+`,"f7":1}`), new(Document)); err == nil {
		t.Error("a duplicate among thousands of names was accepted")
	}
}

// TestReuse: strings and values of a document outlive the parsing of the next.
func TestReuse(t *testing.T) {
	var p Parser
	var d Document
	line := []byte(`{"id":"one","t":"text \u2019 one","u":["x"]}`)
	if err := p.Parse(line, &d); err != nil {
		t.Fatal(err)
	}
	id, text, tags := d.ID, d.Fields[0].Value, d.Fields[1].Value
	copy(line, `{"id":"two","t":"TEXT \u2018 TWO","u":["Y"]}`)
	if err := p.Parse(line, &d); err != nil {
		t.Fatal(err)
	}
	if id != "one" || text != "text ’ one" || !reflect.DeepEqual(tags, []string{"x"}) {
		t.Errorf("kept %q %q %q", id, text, tags)
	}
	if got := d.Map(); !reflect.DeepEqual(got, map[string]any{"t": "TEXT ‘ TWO", "u": []string{"Y"}}) {
		t.Errorf("Map = %v", got)
	}
}

// FuzzParse compares the parser with encoding/json: the same lines accepted, the
// same documents.
func FuzzParse(f *testing.F) {
	for _, line := range []string{
		`{"id":7,"title":"Emma","book":{"year":1815,"tags":["novel",null]},"note":null}`,
		`{"id":"a","t":"q\" b\\ s\/ \b\f\n\r\t é \u00e9 \ud83d\ude00 \ud800\u0041 \udc00"}`,
		"{\"id\":\"a\",\"text of more than eight bytes\":\"\xff\xc3(\xed\xa0\x80\xe2\x82 and some more\"}",
		`{"id":-0,"n":[-0.0e+1]}`, `{"id":"a","n":-1.25E-7,"m":9223372036854775808,"o":1e400}`,
		`{"a":{"b":{"c":true}},"a.b.c":false,"id":"x"}`, ` {} `, `{"id":"b","text":`,
	} {
		f.Add([]byte(line))
	}
	var p Parser // one for all, to notice what a line leaves behind
	f.Fuzz(func(t *testing.T, line []byte) {
		var got Document
		err := p.Parse(line, &got)
		want, ok := slowParse(line)
		if (err == nil) != ok {
			t.Fatalf("%q: got %v, slow twin accepts: %v", line, err, ok)
		}
		if ok && (got.ID != want.ID || len(got.Fields)+len(want.Fields) > 0 && !reflect.DeepEqual(got.Fields, want.Fields)) {
			t.Fatalf("%q:\n got %s\nwant %s", line, show(&got), show(want))
		}
	})
}

// slowParse is Parse on top of encoding/json, written to be obvious.
func slowParse(line []byte) (*Document, bool) {
	if !json.Valid(line) {
		return nil, false
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.UseNumber()
	if first, _ := dec.Token(); first != json.Delim('{') {
		return nil, false
	}
	s := &slowParser{dec: dec, seen: make(map[string]bool)}
	ok := s.object("", 1)
	return &s.doc, ok && s.doc.ID != "" && len(s.seen) <= MaxFields && s.elements <= MaxElements
}

type slowParser struct {
	dec      *json.Decoder
	doc      Document
	seen     map[string]bool
	elements int
}

func (s *slowParser) object(prefix string, depth int) bool {
	if depth > MaxDepth {
		return false
	}
	for s.dec.More() {
		key, _ := s.dec.Token()
		name := prefix + key.(string)
		if key == "" || len(name) > MaxNameBytes || s.seen[name] {
			return false
		}
		s.seen[name] = true
		value, _ := s.dec.Token()
		if !s.value(name, value, depth) {
			return false
		}
	}
	s.dec.Token() // the closing brace
	return true
}

func (s *slowParser) value(name string, value json.Token, depth int) bool {
	if name == "id" {
		switch v := value.(type) {
		case string:
			s.doc.ID = v
		case json.Number:
			s.doc.ID = string(v)
			return !strings.ContainsAny(string(v), ".eE")
		}
		return s.doc.ID != ""
	}
	switch v := value.(type) {
	case nil:
		return true
	case json.Delim:
		if v == '{' {
			return s.object(name+".", depth+1)
		}
		return s.array(name)
	case json.Number:
		if value = slowNumber(v); value == nil {
			return false
		}
	}
	s.doc.Fields = append(s.doc.Fields, Field{name, value})
	return true
}

func slowNumber(v json.Number) any {
	if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
		return n
	}
	if n, err := strconv.ParseUint(string(v), 10, 64); err == nil {
		return n
	}
	if f, err := strconv.ParseFloat(string(v), 64); err == nil {
		return f
	}
	return nil
}

func (s *slowParser) array(name string) bool {
	texts, values := []string{}, []any{}
	for s.dec.More() {
		s.elements++
		switch v, _ := s.dec.Token(); v := v.(type) {
		case nil:
		case string:
			texts = append(texts, v)
			values = append(values, v)
		case bool:
			values = append(values, v)
		case json.Number:
			n := slowNumber(v)
			if n == nil {
				return false
			}
			values = append(values, n)
		default:
			return false
		}
	}
	s.dec.Token() // the closing bracket
	if len(texts) == len(values) {
		s.doc.Fields = append(s.doc.Fields, Field{name, texts})
	} else {
		s.doc.Fields = append(s.doc.Fields, Field{name, values})
	}
	return true
}
