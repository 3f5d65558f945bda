package riffle

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// queryText returns the text of a query: it reads back as the same one (see ParseQuery). What the
// language has no words for is written as JSON.
func queryText(q Query) string {
	if b, ok := q.(Bool); ok && b.MinShould == 0 && len(b.Must)+len(b.Should)+len(b.MustNot)+len(b.Filter) > 1 {
		return string(appendClauses(nil, b))
	}
	return string(appendQuery(nil, q))
}

// appendQuery appends a query so that a sign may precede it, and a boost follow.
func appendQuery(to []byte, q Query) []byte {
	var ok bool
	before := len(to)
	switch q := q.(type) {
	case Match:
		to, ok = q.appendText(to)
	case Term:
		to, ok = q.appendText(to)
	case Phrase:
		if ok = len(q.Terms) == 0 && q.Analyzer == ""; ok {
			to, ok = appendField(to, q.Field)
			to = appendSlop(appendQuoted(to, q.Text), q.Slop)
		}
	case PhrasePrefix:
		if ok = q.Analyzer == ""; ok {
			to, ok = appendField(to, q.Field)
			to = appendSlop(append(appendQuoted(to, q.Text), '*'), q.Slop)
		}
	case Near:
		to, ok = q.appendText(to)
	case Prefix:
		if ok = !q.Raw && q.Prefix != ""; ok {
			if to, ok = appendField(to, q.Field); ok {
				to, ok = appendWord(to, q.Prefix)
				to = append(to, '*')
			}
		}
	case Wildcard:
		to, ok = q.appendText(to)
	case Regexp:
		if ok = !q.Raw; ok {
			if to, ok = appendField(to, q.Field); ok {
				to, ok = appendEscaped(append(to, '/'), q.Expr)
				to = append(to, '/')
			}
		}
	case Fuzzy:
		to, ok = q.appendText(to)
	case TermRange:
		if ok = !q.Raw; ok {
			to, ok = appendField(to, q.Field)
			to = appendRange(to, q.From, q.To, q.ExcludeFrom, q.IncludeTo)
		}
	case Range:
		to, ok = q.appendText(to)
	case Exists:
		to, ok = appendField(to, q.Field)
		to = append(to, '*')
	case All:
		return append(to, "*:*"...)
	case Bool:
		if ok = q.MinShould >= 0 && q.MinShould <= len(q.Should) && len(q.Must)+len(q.Should)+len(q.MustNot)+len(q.Filter) > 0; ok {
			to = append(appendClauses(append(to, '('), q), ')')
			if q.MinShould > 0 {
				to = fmt.Appendf(to, "~%d", q.MinShould)
			}
		}
	case Boost:
		if ok = q.Query != nil; ok {
			to = appendNumber(append(appendQuery(to, q.Query), '^'), q.By)
		}
	case ConstantScore:
		if ok = q.Query != nil; ok {
			to = appendNumber(append(appendQuery(to, q.Query), "^="...), q.Score)
		}
	}
	if ok {
		return to
	}
	return appendJSON(to[:before], q)
}

func appendNumber(to []byte, x float64) []byte { return strconv.AppendFloat(to, x, 'g', -1, 64) }

// appendJSON appends the JSON form of a query, or the reason why there is none.
func appendJSON(to []byte, q Query) []byte {
	if q == nil {
		return append(to, "nil"...)
	}
	data, err := json.Marshal(q)
	if err != nil {
		return fmt.Appendf(to, "!%v", err)
	}
	return append(to, data...)
}

// appendClauses appends the clauses of a Bool.
func appendClauses(to []byte, q Bool) []byte {
	space := false
	for _, part := range [...]struct {
		sign    string
		queries []Query
	}{{"+", q.Must}, {"", q.Should}, {"++", q.Filter}, {"-", q.MustNot}} {
		for _, sub := range part.queries {
			if space {
				to = append(to, ' ')
			}
			to = append(to, part.sign...)
			to = appendQuery(to, sub)
			space = true
		}
	}
	return to
}

// appendField appends a field and a colon. It reports whether the language can name the field.
func appendField(to []byte, name string) ([]byte, bool) {
	if isPlainName(name) {
		to = append(to, name...)
	} else {
		to = appendQuoted(to, name)
	}
	return append(to, ':'), name != ""
}

// isPlainName reports whether a field can be named without quotes.
func isPlainName(name string) bool {
	number := func(r rune) bool { return r == '.' || unicode.IsDigit(r) }
	return strings.TrimFunc(name, number) != "" && !strings.ContainsFunc(name, unicode.IsSpace) &&
		!strings.ContainsAny(name, "\"~()[]{}\\<>=*?/,:^") && name[0] != '+' && name[0] != '-'
}

// appendQuoted appends a text in quotes.
func appendQuoted(to []byte, text string) []byte {
	to = append(to, '"')
	for _, c := range []byte(text) {
		if c == '"' || c == '\\' {
			to = append(to, '\\')
		}
		to = append(to, c)
	}
	return append(to, '"')
}

func appendSlop(to []byte, slop int) []byte {
	if slop == 0 {
		return to
	}
	return fmt.Appendf(to, "~%d", slop)
}

// appendEscaped appends a text in which no character has a meaning. It reports whether that is
// possible: of white space, only the space can be escaped.
func appendEscaped(to []byte, text string) ([]byte, bool) {
	if strings.ContainsFunc(text, func(r rune) bool { return r != ' ' && unicode.IsSpace(r) }) {
		return to, false
	}
	for i, c := range []byte(text) {
		if strings.IndexByte("\"~()\\*?:^ ", c) >= 0 || i == 0 && strings.IndexByte("+-=<>[{/", c) >= 0 {
			to = append(to, '\\')
		}
		to = append(to, c)
	}
	return to, true
}

// appendWord is appendEscaped for a text that is not empty.
func appendWord(to []byte, text string) ([]byte, bool) {
	if text == "" {
		return to, false
	}
	return appendEscaped(to, text)
}

func (q Match) appendText(to []byte) ([]byte, bool) {
	if q.Mode != ModeOr || q.MinShould != 0 || q.Combine != CombineSum || q.Tie != 0 || q.Analyzer != "" {
		return to, false
	}
	if q.Field != "" {
		if len(q.Fields) > 0 || len(q.Boosts) > 0 {
			return to, false
		}
		to, _ = appendField(to, q.Field)
		return appendWord(to, q.Text)
	}
	if len(q.Fields) < 2 || slices.ContainsFunc(q.Fields, func(f string) bool { return !isPlainName(f) }) {
		return to, false
	}
	for i, f := range q.Fields {
		if i > 0 {
			to = append(to, ',')
		}
		to = append(to, f...)
		if by, ok := q.Boosts[f]; ok {
			to = appendNumber(append(to, '^'), by)
		}
	}
	return appendWord(append(to, ':'), q.Text)
}

func (q Term) appendText(to []byte) ([]byte, bool) {
	to, ok := appendField(to, q.Field)
	to = append(to, '=')
	v, err := plainValue(q.Value)
	switch s := v.(type) {
	case string:
		return appendQuoted(to, s), ok
	case Point:
		return to, false
	}
	to = appendValue(to, v, true)
	return to, ok && err == nil
}

// appendValue appends a number, boolean or time.
func appendValue(to []byte, v any, escape bool) []byte {
	switch v := v.(type) {
	case bool:
		return strconv.AppendBool(to, v)
	case int64:
		return strconv.AppendInt(to, v, 10)
	case uint64:
		return strconv.AppendUint(to, v, 10)
	case float64:
		return appendNumber(to, v)
	case time.Time:
		s := v.UTC().Format(time.RFC3339Nano)
		if escape {
			s = strings.ReplaceAll(s, ":", `\:`)
		}
		return append(to, s...)
	}
	return to
}

func (q Near) appendText(to []byte) ([]byte, bool) {
	if q.Analyzer != "" || len(q.Phrases) == 0 || q.Distance < 0 {
		return to, false
	}
	to, ok := appendField(to, q.Field)
	to = append(to, "NEAR("...)
	for i, p := range q.Phrases {
		if i > 0 {
			to = append(to, ' ')
		}
		to = appendQuoted(to, p)
	}
	return fmt.Appendf(to, ", %d)", q.Distance), ok
}

// appendText writes a pattern in which an escaped character is one that the pattern's own syntax would
// escape, so that reading it gives the same text.
func (q Wildcard) appendText(to []byte) ([]byte, bool) {
	if _, prefix := prefixOf(q.Pattern); prefix || q.Raw || q.Pattern == "*" {
		return to, false
	}
	to, ok := appendField(to, q.Field)
	wild := false
	for i := 0; ok && i < len(q.Pattern); i++ {
		switch c := q.Pattern[i]; c {
		case '*', '?':
			wild = true
			to = append(to, c)
		case '\\':
			if i++; i == len(q.Pattern) || strings.IndexByte(`*?\`, q.Pattern[i]) < 0 {
				return to, false
			}
			to = append(to, '\\', q.Pattern[i])
		default:
			end := i + 1
			for end < len(q.Pattern) && strings.IndexByte(`*?\`, q.Pattern[end]) < 0 {
				end++
			}
			to, ok = appendEscaped(to, q.Pattern[i:end])
			i = end - 1
		}
	}
	return to, ok && wild
}

func (q Fuzzy) appendText(to []byte) ([]byte, bool) {
	if q.Prefix != 0 || q.Expansions != 0 || q.Raw || q.Edits < AutoEdits || q.Edits > 2 {
		return to, false
	}
	to, ok := appendField(to, q.Field)
	if !ok {
		return to, false
	}
	if to, ok = appendWord(to, q.Term); q.Edits == AutoEdits {
		return append(to, "~auto"...), ok
	}
	return fmt.Appendf(to, "~%d", q.Edits), ok
}

func (q Range) appendText(to []byte) ([]byte, bool) {
	if q.From == nil && q.To == nil || q.TimeZone != "" {
		return to, false
	}
	to, ok := appendField(to, q.Field)
	open, end := "[", "}"
	if q.ExcludeFrom {
		open = "{"
	}
	if q.IncludeTo {
		end = "]"
	}
	to = append(to, open...)
	for i, x := range []any{q.From, q.To} {
		if i > 0 {
			to = append(to, " TO "...)
		}
		if x == nil {
			to = append(to, '*')
			continue
		}
		v, err := plainValue(x)
		if text, is := v.(string); is && isRelative(text) {
			to = append(to, text...)
			continue
		} else if err != nil || is {
			return to, false
		}
		to = appendValue(to, v, false)
	}
	return append(to, end...), ok
}

// appendRange appends a range of texts.
func appendRange(to []byte, from, end string, excludeFrom, includeTo bool) []byte {
	open, closing := byte('['), byte('}')
	if excludeFrom {
		open = '{'
	}
	if includeTo {
		closing = ']'
	}
	to = append(to, open)
	for i, text := range []string{from, end} {
		if i > 0 {
			to = append(to, " TO "...)
		}
		if text == "" {
			to = append(to, '*')
		} else {
			to = appendQuoted(to, text)
		}
	}
	return append(to, closing)
}
