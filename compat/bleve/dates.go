package bleve

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
)

// A dateParser reads a time, and returns the layout by which it is written again: a layout of package
// time, or the name of a unit of Unix time.
type dateParser func(text string) (t time.Time, layout string, ok bool)

// defaultParser is the name of bleve's parser for dates in requests.
const defaultParser = "dateTimeOptional"

// optionalLayouts are those of the default parser.
var optionalLayouts = []string{
	time.RFC3339Nano, time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04:05 -0700", "2006-01-02",
}

// unixUnits are the units of Unix time by bleve's names, in nanoseconds.
var unixUnits = map[string]int64{"unix_sec": 1e9, "unix_milli": 1e6, "unix_micro": 1e3, "unix_nano": 1}

func builtinParsers() map[string]dateParser {
	parsers := map[string]dateParser{defaultParser: byLayouts(optionalLayouts)}
	for name, unit := range unixUnits {
		parsers[name] = func(text string) (time.Time, string, bool) {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil || n > math.MaxInt64/unit || n < math.MinInt64/unit {
				return time.Time{}, "", false
			}
			return time.Unix(0, n*unit), name, true
		}
	}
	return parsers
}

func byLayouts(layouts []string) dateParser {
	return func(text string) (time.Time, string, bool) {
		for _, layout := range layouts {
			if t, err := time.Parse(layout, text); err == nil {
				return t, layout, true
			}
		}
		return time.Time{}, "", false
	}
}

// customParser makes a date parser that a mapping defines.
func customParser(s settings) (dateParser, error) {
	translate, ok := map[string]func(string) (string, error){
		"flexiblego":   func(layout string) (string, error) { return layout, nil },
		"sanitizedgo":  func(layout string) (string, error) { return layout, checkLayout(layout) },
		"isostyle":     isoLayout,
		"percentstyle": percentLayout,
	}[s.text("type")]
	if !ok {
		if parse := builtinParsers()[s.text("type")]; parse != nil {
			return parse, nil
		}
		return nil, fmt.Errorf("type: %q is unknown", s.text("type"))
	}
	layouts, ok := s.list("layouts")
	if !ok {
		return nil, errors.New("layouts: a list of texts is wanted")
	}
	for i := range layouts {
		var err error
		if layouts[i], err = translate(layouts[i]); err != nil {
			return nil, fmt.Errorf("layouts[%d]: %w", i, err)
		}
	}
	return byLayouts(layouts), nil
}

// checkParser reports a date parser that bleve would not know.
func (m *Mapping) checkParser(path, name string) error {
	if m.parsers[name] == nil {
		return fmt.Errorf("%s: no date parser is named %q", path, name)
	}
	return nil
}

// parserNamed returns a date parser for a request.
func (m *Mapping) parserNamed(name string) (dateParser, error) {
	if p := m.parsers[name]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("no date parser is named %q", name)
}

// representable reports whether bleve can index a time: nanoseconds since 1970 in 64 bits.
func representable(t time.Time) bool {
	return !t.Before(time.Unix(0, math.MinInt64)) && !t.After(time.Unix(0, math.MaxInt64))
}

// formatDate writes a time as bleve returns it.
func formatDate(nanos int64, layout string) string {
	if unit, ok := unixUnits[layout]; ok {
		whole := nanos / unit
		if nanos%unit < 0 {
			whole-- // rounded down, as package time does
		}
		return strconv.FormatInt(whole, 10)
	}
	if layout == "" {
		layout = time.RFC3339
	}
	return time.Unix(0, nanos).UTC().Format(layout)
}
