package server

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// A generator makes values from the schemas of the OpenAPI document: such as they ask for, and others.
type generator struct {
	*rand.Rand
	contract *contract
	members  int // one of so many members that are not required is there
}

// An objectOf is a JSON object whose members have an order, and may have the same name.
type objectOf []memberOf

type memberOf struct {
	name  string
	value any
}

// A verbatim is JSON, or what pretends to be.
type verbatim string

// Words by the names of members, so that many requests get past the first check.
var (
	fuzzFields = []string{"title", "shelf", "year", "at", "place", "sold", "flag", "author.name", "nowhere"}
	fuzzTexts  = []string{"whale", "whale", "whales", "whales and jungle", "title:whale", `"moby dick"~2`, "year:>1850", "shelf:sea or wha*", "title:/wh.*/", "at:[now-1d to now]", "whael~", "(((", "place:50,10,3km", "and or not", "*", ""}
	fuzzIDs    = []string{"moby", "b0", "b1", "b7", "a/b", "..", ".", "%2F", "a b", "\xff", "\xfe/\xff", "ä", "delete", "\x00", "nobody"}
	oddTexts   = []string{"", "\x00", "\xff\xfe", "\xed\xa0\x80", "\u202e", "\ufeff", "😀", "a\x00b", "../../etc/passwd", "%2e%2e%2f", "null", "-1", "NaN", "1e309", `"`, `\`, "\n", strings.Repeat("a", 70_000)}
	oddValues  = []any{nil, true, verbatim("0"), verbatim("-1"), verbatim("1e308"), verbatim("-1e308"), verbatim("1e400"), verbatim("1e-400"), verbatim("9223372036854775808"), verbatim("18446744073709551616"),
		verbatim("123456789012345678901234567890.5"), verbatim("2147483648"), verbatim("-0"), verbatim("5e-324"), verbatim("NaN"), verbatim("01"), objectOf{}, []any{}, []any{nil}, objectOf{{"", nil}}, verbatim(`"\ud800"`), verbatim(`"\u0000"`)}
)

// pick returns an element.
func pick[T any](g *generator, list []T) T { return list[g.IntN(len(list))] }

// value makes a value for a schema. The name is that of the member or parameter.
func (g *generator) value(pointer, name string, depth int) any {
	at, err := g.contract.at(pointer)
	if err != nil { // true, or nothing at all
		return pick(g, oddValues)
	}
	s := at.object
	if c, ok := s["const"]; ok {
		return c
	}
	if list, ok := s["enum"].([]any); ok {
		return pick(g, list)
	}
	for _, of := range []string{"oneOf", "anyOf"} {
		list, ok := s[of].([]any)
		if !ok {
			continue
		}
		i := g.IntN(len(list))
		if s["properties"] == nil {
			return g.value(fmt.Sprintf("%s/%s/%d", at.pointer, of, i), name, depth)
		}
		branch := list[i].(map[string]any) // only says what is required
		return g.object(at, append(texts(s["required"]), texts(branch["required"])...), branch["not"] != nil, depth)
	}
	kind := s["type"]
	if list, ok := kind.([]any); ok {
		kind = pick(g, list)
	}
	switch kind {
	case "object":
		return g.object(at, texts(s["required"]), false, depth)
	case "array":
		n := g.IntN(4)
		if depth > 6 {
			n = 0
		}
		if least, ok := asInt(s["minItems"]); ok {
			n = least
		}
		list := make([]any, n)
		for i := range list {
			list[i] = g.value(at.pointer+"/items", name, depth+1)
		}
		return list
	case "string":
		return g.text(s, name)
	case "integer", "number":
		return g.number(s, kind == "integer")
	case "boolean":
		return g.IntN(2) == 0
	case "null":
		return nil
	}
	// Any value: one that a document may have.
	return pick(g, []any{"whale", verbatim("1851"), verbatim("-2.5"), true, "1851-10-18", objectOf{{"lat", verbatim("50")}, {"lon", verbatim("10")}}, []any{"a", verbatim("1")}, nil})
}

// object makes an object with the members that are required and some others.
func (g *generator) object(at place, required []string, bare bool, depth int) any {
	members, _ := at.object["properties"].(map[string]any)
	names := slices.Sorted(maps.Keys(members))
	var out objectOf
	if most, ok := asInt(at.object["maxProperties"]); ok && most == 1 {
		one := pick(g, names)
		for _, leaf := range []string{"all", "fixed", "stats"} { // so that it comes to an end
			if depth > 6 && members[leaf] != nil {
				one = leaf
			}
		}
		names = []string{one}
		required = names
	}
	for _, name := range names {
		alternative := slices.Contains([]string{"put", "update", "delete"}, name) || slices.Contains([]string{"time", "place", "bytes", "value"}, name) && at.object["oneOf"] != nil
		if slices.Contains(required, name) || !bare && !alternative && depth < 8 && g.IntN(g.members) == 0 {
			out = append(out, memberOf{name, g.value(at.pointer+"/properties/"+name, name, depth+1)})
		}
	}
	if _, ok := at.object["additionalProperties"].(map[string]any); ok {
		for range g.IntN(3) {
			if depth > 6 {
				break
			}
			out = append(out, memberOf{pick(g, fuzzFields), g.value(at.pointer+"/additionalProperties", "", depth+1)})
		}
	}
	return out
}

func (g *generator) text(s map[string]any, name string) string {
	switch {
	case s["format"] == "date-time":
		return pick(g, []string{"1851-10-18T00:00:00Z", "2026-02-28T23:59:59.5+01:00", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"})
	case s["contentEncoding"] == "base64":
		return base64.StdEncoding.EncodeToString([]byte(pick(g, fuzzIDs)))
	}
	switch name {
	case "index":
		return pick(g, []string{"books", "books", "books", "books", "books", "books", "books", "books", "scratch", "no"})
	case "id", "put", "update", "delete", "values", "ids", "from":
		return pick(g, fuzzIDs)
	case "field", "fields", "load", "copy_from", "highlight":
		return pick(g, fuzzFields)
	case "sort", "order":
		return pick(g, []string{"-year", "_score", "_id", "year:first", "place:from=50/10", "-count", "key", "shelf:max", "at"})
	case "analyzer":
		return pick(g, []string{"english", "standard", "keyword", "klingon"})
	case "time_zone", "zone":
		return pick(g, []string{"Europe/Berlin", "UTC", "+02:00", "Mars/Olympus", "../../etc/passwd"})
	case "If-Match", "If-None-Match":
		return pick(g, []string{`"1"`, `"2"`, "*", `W/"3"`, `"18446744073709551615"`})
	case "Content-Encoding":
		return "identity"
	case "min_should":
		return pick(g, []string{"75%", "-25%", "2", "-100%"})
	case "timeout":
		return pick(g, []string{"100ms", "1s", "3s"})
	case "Idempotency-Key":
		return strconv.Itoa(g.IntN(10_000))
	case "every", "offset", "deadline", "scale":
		return pick(g, []string{"1h", "250ms", "30d", "24h", "0"})
	case "profile":
		return pick(g, []string{"heap", "goroutine", "allocs", "nothing", "profile"})
	case "type":
		return pick(g, []string{"lowercase", "words", "stop", "ngram"})
	}
	return pick(g, fuzzTexts)
}

func (g *generator) number(s map[string]any, whole bool) any {
	low, high := -3, 20
	if n, ok := asInt(s["minimum"]); ok {
		low = n
	}
	if n, ok := asInt(s["maximum"]); ok {
		high = n
	}
	n := low + g.IntN(max(1, min(high-low+1, 40)))
	if !whole && n < high && g.IntN(2) == 0 {
		return verbatim(strconv.FormatFloat(float64(n)+g.Float64(), 'g', -1, 64))
	}
	return verbatim(strconv.Itoa(n))
}

// mutate returns a value in which something is wrong, mostly.
func (g *generator) mutate(v any) any {
	if g.IntN(4) == 0 {
		return g.odd()
	}
	switch v := v.(type) {
	case objectOf:
		if len(v) == 0 {
			return objectOf{{"", g.odd()}}
		}
		v = slices.Clone(v)
		i := g.IntN(len(v))
		switch g.IntN(8) {
		case 0:
			v = append(v, v[i]) // twice
		case 1:
			v = append(v, memberOf{v[i].name, g.odd()})
		case 2:
			v[i].name = pick(g, oddTexts)
		case 3:
			v = slices.Delete(v, i, i+1)
		case 4:
			v[i].name = strings.ToUpper(v[i].name)
		default:
			v[i].value = g.mutate(v[i].value)
		}
		return v
	case []any:
		if len(v) == 0 {
			return []any{g.odd()}
		}
		v = slices.Clone(v)
		v[g.IntN(len(v))] = g.mutate(v[g.IntN(len(v))])
		return v
	}
	return g.odd()
}

func (g *generator) odd() any {
	switch g.IntN(12) {
	case 0:
		n := pick(g, []int{60, 150, 5000, 20_000})
		return verbatim(strings.Repeat("[", n) + strings.Repeat("]", n))
	case 1:
		n := pick(g, []int{99, 101, 3000})
		return verbatim(strings.Repeat(`{"bool":{"must":[`, n) + `{"all":{}}` + strings.Repeat("]}}", n))
	case 2:
		n := pick(g, []int{50, 2000})
		return verbatim(strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n))
	case 3:
		list := make([]any, pick(g, []int{100, 3000}))
		for i := range list {
			list[i] = strconv.Itoa(i)
		}
		return list
	case 4, 5, 6:
		return pick(g, oddTexts)
	}
	return pick(g, oddValues)
}

// write writes a value as JSON. What is odd in a text stays so.
func write(b *bytes.Buffer, v any) {
	switch v := v.(type) {
	case objectOf:
		b.WriteByte('{')
		for i, m := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			writeText(b, m.name)
			b.WriteByte(':')
			write(b, m.value)
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			write(b, v[i])
		}
		b.WriteByte(']')
	case string:
		writeText(b, v)
	case verbatim:
		b.WriteString(string(v))
	case nil:
		b.WriteString("null")
	default:
		fmt.Fprint(b, v)
	}
}

func writeText(b *bytes.Buffer, text string) {
	b.WriteByte('"')
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ':
			fmt.Fprintf(b, `\u%04x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
}

func texts(v any) (all []string) {
	list, _ := v.([]any)
	for _, x := range list {
		all = append(all, x.(string))
	}
	return all
}

func asInt(v any) (int, bool) {
	if v == nil {
		return 0, false
	}
	n, err := strconv.Atoi(fmt.Sprint(v))
	return n, err == nil
}
