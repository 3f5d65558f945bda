package server

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/client"
)

// Answers to searches are appended member by member: reflection took a fifth of the time of a request. What is
// written is what package json makes of client.SearchAnswer, which TestAnswerJSON checks. Values that are rare in hits,
// and aggregations, are left to package json.

// answerBuffers are for answers to searches.
var answerBuffers = sync.Pool{New: func() any { return new([]byte) }}

// keptAnswerBytes is the largest buffer that is kept for the next answer.
const keptAnswerBytes = 64 << 10

// writeAnswer answers a search.
func writeAnswer(w http.ResponseWriter, res *Found, req *client.SearchRequest, notes []client.Note) error {
	buf := answerBuffers.Get().(*[]byte)
	b, err := appendAnswer((*buf)[:0], res, req, notes)
	if err != nil {
		return fmt.Errorf("writing an answer: %w", err)
	}
	w.Header()["Content-Type"] = jsonContent
	err = w.(*answer).whole(http.StatusOK, b)
	if cap(b) <= keptAnswerBytes {
		*buf = b
		answerBuffers.Put(buf)
	}
	return err
}

// appendAnswer appends the client.SearchAnswer of a result, and a line feed.
func appendAnswer(b []byte, res *Found, req *client.SearchRequest, notes []client.Note) (_ []byte, err error) {
	b = append(b, `{"hits":[`...)
	html := req.Highlight != nil && req.Highlight.HTML
	for i := range res.Hits {
		if i > 0 {
			b = append(b, ',')
		}
		var cursor client.Cursor
		if req.Cursors || i == len(res.Hits)-1 {
			if cursor, err = res.cursor(i); err != nil {
				return nil, err
			}
		}
		if b, err = appendHit(b, &res.Hits[i], html, cursor); err != nil {
			return nil, err
		}
	}
	b = append(b, `],"total":`...)
	b = strconv.AppendInt(b, int64(res.Total), 10)
	b = append(b, `,"total_exact":`...)
	b = strconv.AppendBool(b, res.TotalExact)
	b = appendCount(b, `,"groups":`, int64(res.Groups))
	if res.Incomplete {
		b = append(b, `,"incomplete":true`...)
	}
	if len(res.Aggregations) > 0 {
		b = append(b, `,"aggregations":`...)
		if b, err = appendEncoded(b, aggregationsOf(res.Aggregations)); err != nil {
			return nil, err
		}
	}
	b = append(b, `,"work":{"blocks_decoded":`...)
	b = strconv.AppendInt(b, res.Work.BlocksDecoded, 10)
	b = append(b, `,"blocks_skipped":`...)
	b = strconv.AppendInt(b, res.Work.BlocksSkipped, 10)
	b = append(b, `,"docs_scored":`...)
	b = strconv.AppendInt(b, res.Work.DocsScored, 10)
	b = appendCount(b, `,"bytes_moved":`, res.Work.BytesMoved)
	b = appendCount(b, `,"tasks":`, res.Work.Tasks)
	b = append(b, `},"executor":`...)
	b = appendString(b, res.Executor)
	b = append(b, `,"took_ms":`...)
	if b, err = appendFloat(b, float64(res.Duration)/1e6); err != nil {
		return nil, err
	}
	if res.Profile != nil {
		b = append(b, `,"profile":`...)
		if b, err = appendEncoded(b, res.Profile); err != nil {
			return nil, err
		}
	}
	if len(res.Missing) > 0 {
		b = append(b, `,"missing":`...)
		if b, err = appendEncoded(b, res.Missing); err != nil {
			return nil, err
		}
	}
	if len(notes) > 0 {
		b = append(b, `,"notes":`...)
		if b, err = appendEncoded(b, notes); err != nil {
			return nil, err
		}
	}
	return append(b, "}\n"...), nil
}

func appendHit(b []byte, h *riffle.Hit, html bool, cursor client.Cursor) (_ []byte, err error) {
	b = append(b, `{"id":`...)
	b = appendID(b, h.ID)
	b = append(b, `,"score":`...)
	if b, err = appendFloat(b, h.Score); err != nil {
		return nil, err
	}
	if len(h.Sort) > 0 {
		b = append(b, `,"sort":`...)
		if b, err = appendValue(b, h.Sort); err != nil {
			return nil, err
		}
	}
	if h.Group != nil {
		b = append(b, `,"group":`...)
		if b, err = appendValue(b, h.Group); err != nil {
			return nil, err
		}
	}
	b = appendCount(b, `,"group_size":`, int64(h.GroupSize))
	if h.Version != 0 {
		b = append(b, `,"version":`...)
		b = strconv.AppendUint(b, h.Version, 10)
	}
	if len(h.Fields) > 0 {
		b = append(b, `,"fields":`...)
		if b, err = appendMembers(b, h.Fields, appendValue); err != nil {
			return nil, err
		}
	}
	if len(h.Fragments) > 0 {
		b = append(b, `,"fragments":`...)
		b, err = appendMembers(b, h.Fragments, func(b []byte, list []riffle.Fragment) ([]byte, error) { return appendFragments(b, list, html) })
		if err != nil {
			return nil, err
		}
	}
	if cursor != "" {
		b = append(b, `,"cursor":"`...)
		b = append(b, cursor...)
		b = append(b, '"') // nothing in a cursor needs an escape
	}
	return append(b, '}'), nil
}

func appendFragments(b []byte, list []riffle.Fragment, html bool) (_ []byte, err error) {
	b = append(b, '[')
	for i := range list {
		f := &list[i]
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"value":`...)
		b = strconv.AppendInt(b, int64(f.Value), 10)
		b = append(b, `,"start":`...)
		b = strconv.AppendInt(b, int64(f.Start), 10)
		b = append(b, `,"end":`...)
		b = strconv.AppendInt(b, int64(f.End), 10)
		b = append(b, `,"text":`...)
		b = appendString(b, f.Text)
		b = append(b, `,"matches":[`...)
		for j, m := range f.Matches {
			if j > 0 {
				b = append(b, ',')
			}
			b = append(b, '[')
			b = strconv.AppendInt(b, int64(m.Start), 10)
			b = append(b, ',')
			b = strconv.AppendInt(b, int64(m.End), 10)
			b = append(b, ']')
		}
		b = append(b, ']')
		if f.Before {
			b = append(b, `,"before":true`...)
		}
		if f.After {
			b = append(b, `,"after":true`...)
		}
		b = append(b, `,"score":`...)
		if b, err = appendFloat(b, f.Score); err != nil {
			return nil, err
		}
		if html {
			if text := f.HTML(); text != "" {
				b = append(b, `,"html":`...)
				b = appendString(b, text)
			}
		}
		b = append(b, '}')
	}
	return append(b, ']'), nil
}

// appendMembers appends an object whose members are in the order of their names.
func appendMembers[T any](b []byte, members map[string]T, value func([]byte, T) ([]byte, error)) (_ []byte, err error) {
	b = append(b, '{')
	for i, name := range slices.Sorted(maps.Keys(members)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, name), ':')
		if b, err = value(b, members[name]); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// appendValue appends a value of a field.
func appendValue(b []byte, v any) (_ []byte, err error) {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), nil
	case string:
		return appendString(b, v), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case int64:
		return strconv.AppendInt(b, v, 10), nil
	case uint64:
		return strconv.AppendUint(b, v, 10), nil
	case float64:
		return appendFloat(b, v)
	case []any:
		if v == nil {
			return append(b, "null"...), nil
		}
		b = append(b, '[')
		for i, each := range v {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = appendValue(b, each); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	}
	return appendEncoded(b, v)
}

// appendCount appends a member that is not there if it is 0.
func appendCount(b []byte, name string, n int64) []byte {
	if n == 0 {
		return b
	}
	return strconv.AppendInt(append(b, name...), n, 10)
}

// appendID appends an id as client.ID has it.
func appendID(b []byte, id string) []byte {
	if utf8.ValidString(id) {
		return appendString(b, id)
	}
	b = append(b, `{"bytes":"`...)
	b = base64.StdEncoding.AppendEncode(b, []byte(id))
	return append(b, `"}`...)
}

// appendFloat appends a number in the shortest form, as package json does: with an exponent only where it is very large
// or very small, as in JavaScript.
func appendFloat(b []byte, f float64) ([]byte, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, fmt.Errorf("JSON has no number %v", f)
	}
	abs := math.Abs(f)
	if abs == 0 || 1e-6 <= abs && abs < 1e21 {
		return strconv.AppendFloat(b, f, 'f', -1, 64), nil
	}
	b = strconv.AppendFloat(b, f, 'e', -1, 64)
	if n := len(b); n >= 4 && b[n-4] == 'e' && b[n-3] == '-' && b[n-2] == '0' { // e-09 is e-9
		b[n-2] = b[n-1]
		b = b[:n-1]
	}
	return b, nil
}

const hexDigits = "0123456789abcdef"

// appendString appends a string in quotes. What is not UTF-8 is U+FFFD. The separators of lines and paragraphs are
// escaped, for JavaScript of old; <, > and & are not.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	done := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if (r != utf8.RuneError || size > 1) && r != '\u2028' && r != '\u2029' {
				i += size
				continue
			}
			b = append(b, s[done:i]...)
			if r == utf8.RuneError {
				b = append(b, `\ufffd`...)
			} else {
				b = append(b, `\u202`...)
				b = append(b, hexDigits[r&0xF])
			}
			i += size
			done = i
			continue
		}
		b = append(b, s[done:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\b':
			b = append(b, `\b`...)
		case '\f':
			b = append(b, `\f`...)
		case '\n':
			b = append(b, `\n`...)
		case '\r':
			b = append(b, `\r`...)
		case '\t':
			b = append(b, `\t`...)
		default:
			b = append(b, `\u00`...)
			b = append(b, hexDigits[c>>4], hexDigits[c&0xF])
		}
		i++
		done = i
	}
	b = append(b, s[done:]...)
	return append(b, '"')
}

// An appended is what package json has appended.
type appended []byte

func (a *appended) Write(p []byte) (int, error) {
	*a = append(*a, p...)
	return len(p), nil
}

// appendEncoded appends what package json makes of a value.
func appendEncoded(b []byte, v any) ([]byte, error) {
	to := appended(b)
	enc := json.NewEncoder(&to)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return to[:len(to)-1], nil // without the line feed
}
