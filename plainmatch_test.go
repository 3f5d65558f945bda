package riffle

import (
	"encoding/json"
	"reflect"
	"testing"
)

// TestPlainMatch: a Match has the same JSON, and is the same after it, with and without reflection.
func TestPlainMatch(t *testing.T) {
	plain := 0
	for _, text := range []string{"", "white whale", "é", `a"b`, `a\b`, "<b>", "a&b", "a\x00", "a\x7f", "a\xff", "\u2028", "~ '"} {
		for _, q := range []Match{
			{Field: "t", Text: text}, {Text: text}, {Field: text, Text: "x"}, {Field: "t", Text: text, Mode: ModeAnd}, {Field: "t", Text: text, Mode: ModeAndOr}, {Field: "t", Text: text, Tie: 0.5},
			{Fields: []string{"a"}, Text: text}, {Field: "t", Text: text, MinShould: 2}, {Field: "t", Text: text, Analyzer: "english"}, {Field: "t", Text: text, Combine: CombineBest}, {Field: "t", Text: text, Boosts: map[string]float64{"t": 2}},
		} {
			j := matchJSON{Field: q.Field, Fields: q.Fields, Text: q.Text, Least: leastJSON(q.MinShould), Boosts: q.Boosts, Tie: q.Tie, Analyzer: q.Analyzer}
			if q.Mode != ModeOr {
				j.Mode = modeNames[q.Mode]
			}
			if q.Combine != CombineSum {
				j.Combine = combineNames[q.Combine]
			}
			want, err := json.Marshal(map[string]any{"match": j})
			if err != nil {
				t.Fatal(err)
			}
			if got, err := (queryForm{}).AppendQuery([]byte("-"), q); err != nil || string(got) != "-"+string(want) {
				t.Errorf("%#v is %s, want %s: %v", q, got[1:], want, err)
			}
			if got, ok := appendPlainMatch(nil, &q); ok {
				plain++
				if string(got) != string(want) {
					t.Errorf("%#v is plainly %s, want %s", q, got, want)
				}
			}
			got, ok := readPlainMatch(want)
			var members map[string]json.RawMessage
			if err := json.Unmarshal(want, &members); err != nil {
				t.Fatal(err)
			}
			again, err := unmarshalKind("match", members["match"], 0)
			if err != nil {
				continue
			}
			if ok && !reflect.DeepEqual(Query(got), again) {
				t.Errorf("%s is plainly %#v, want %#v", want, got, again)
			}
		}
	}
	if plain == 0 {
		t.Error("no query is plain")
	}
	for _, text := range []string{
		`{}`, `{"match":{"field":"t","text":"x"},"match":{"field":"t","text":"y"}}`, `{"match":{"field":"t","field":"u","text":"x"}}`, `{"match":{"mode":"and","mode":"or","text":"x"}}`, `{"match":{"field":"t","text":"x","mode":"xor"}}`,
		`{"match":{"field":"t","text":"x"}} 1`, `{"match":{"text":5}}`, `{"match":null}`, `{"Match":{"field":"t"}}`, `{"match":{"Field":"t"}}`, `{"match":{"field":"t","text":"x","tie":1}}`,
	} {
		if q, ok := readPlainMatch([]byte(text)); ok {
			t.Errorf("%s is read as %#v", text, q)
		}
	}
}
