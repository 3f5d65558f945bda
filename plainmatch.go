package riffle

import (
	"encoding/json"

	"github.com/riffle-search/riffle/internal/plainjson"
)

// Most queries of programs are a Match of one field, of text without escapes. Their JSON is read and written here
// without reflection; all others take the way of UnmarshalQuery and json.Marshal.

// A queryForm implements search.QueryForm.
type queryForm struct{}

// AppendQuery appends what json.Marshal makes of a query.
func (queryForm) AppendQuery(b []byte, q json.Marshaler) ([]byte, error) {
	if m, ok := q.(Match); ok {
		if b, ok := appendPlainMatch(b, &m); ok {
			return b, nil
		}
	}
	form, err := json.Marshal(q)
	return append(b, form...), err
}

// appendPlainMatch appends what json.Marshal makes of a Match, if it is plain.
func appendPlainMatch(b []byte, q *Match) (_ []byte, ok bool) {
	if len(q.Fields) > 0 || q.MinShould != 0 || len(q.Boosts) > 0 || q.Tie != 0 || q.Analyzer != "" || q.Combine != CombineSum || q.Mode > ModeAndOr || !unescaped(q.Field) || !unescaped(q.Text) {
		return b, false
	}
	b = append(b, `{"match":{`...)
	if q.Field != "" {
		b = append(b, `"field":"`...)
		b = append(b, q.Field...)
		b = append(b, `",`...)
	}
	b = append(b, `"text":"`...)
	b = append(b, q.Text...)
	if q.Mode != ModeOr {
		b = append(b, `","mode":"`...)
		b = append(b, modeNames[q.Mode]...)
	}
	return append(b, `"}}`...), true
}

// unescaped reports whether a text is itself within the quotes of JSON.
func unescaped(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&':
			return false
		}
	}
	return true
}

// readPlainMatch reads a Match, if it is plain.
func readPlainMatch(data []byte) (q Match, ok bool) {
	r := plainjson.NewReader(data)
	matches, field, text, mode := 0, 0, 0, 0
	ok = r.Object(func(name []byte) bool {
		if matches++; matches > 1 || string(name) != "match" {
			return false
		}
		return r.Object(func(name []byte) (ok bool) {
			switch string(name) {
			case "field":
				q.Field, ok = r.String()
				field++
			case "text":
				q.Text, ok = r.String()
				text++
			case "mode":
				mode++
				var word string
				if word, ok = r.String(); ok && word != "" {
					var err error
					q.Mode, err = ParseMode(word)
					ok = err == nil
				}
			}
			return ok
		})
	})
	return q, ok && matches == 1 && field <= 1 && text <= 1 && mode <= 1 && r.End()
}
