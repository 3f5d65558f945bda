package bleve

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// checkLayout reports what a layout of package time has besides that package's elements, which bleve's
// date parser sanitizedgo does not accept.
func checkLayout(layout string) error {
	for _, part := range layoutBreaks.Split(layoutExtras.ReplaceAllString(layout, ""), -1) {
		if !slices.Contains(layoutElements, part) {
			return fmt.Errorf("%q is no part of a layout of Go's package time", part)
		}
	}
	return nil
}

var (
	layoutExtras   = regexp.MustCompile(`PM|pm|\.9+|\.0+|MST`)
	layoutBreaks   = regexp.MustCompile("[-+= :T,Z.<>;?!`~@#$%^&*|'\"(){}\\[\\]/\\\\]")
	layoutElements = []string{
		"", "2006", "06", "01", "1", "_1", "January", "Jan", "02", "2", "_2", "__2", "002", "Monday", "Mon", "15", "3", "03", "4", "04", "5", "05",
		"0700", "070000", "07", "00",
	}
)

// isoLayout turns a format of bleve's parser isostyle, that of Java's DateTimeFormatter, into a layout
// of package time: letters are elements, and texts in single quotes stand for themselves.
func isoLayout(format string) (string, error) {
	var b strings.Builder
	for format != "" {
		c := format[0]
		switch {
		case strings.HasPrefix(format, "''"):
			b.WriteByte('\'')
			format = format[2:]
			continue
		case c == '\'':
			text, rest, ok := strings.Cut(format[1:], "'")
			if !ok {
				return "", fmt.Errorf("the quote of %q is not closed", format)
			}
			b.WriteString(text)
			format = rest
			continue
		case c|0x20 < 'a' || c|0x20 > 'z':
			b.WriteByte(c)
			format = format[1:]
			continue
		}
		n := len(format) - len(strings.TrimLeft(format, string(c)))
		element := isoElement(c, n)
		if element == "" {
			return "", fmt.Errorf("%q is unknown", format[:n])
		}
		b.WriteString(element)
		format = format[n:]
	}
	return b.String(), nil
}

// isoElements are elements of a layout by letter and how often it stands there, from once on.
var isoElements = map[byte][]string{
	'M': {"1", "01", "Jan", "January"}, 'd': {"2", "02"}, 'E': {"Mon", "Mon", "Mon", "Monday"},
	'a': {"PM", "pm"}, 'H': {"15", "15"}, 'h': {"3", "03"}, 'K': {"3", "03"}, 'm': {"4", "04"}, 's': {"5", "05"},
	'X': {"Z07", "Z0700", "Z07:00", "Z070000", "Z07:00:00"}, 'x': {"-07", "-0700", "-07:00", "-070000", "-07:00:00"},
	'z': {"MST", "MST", "MST", "MST"},
}

// isoElement returns what n times a letter stands for, or "".
func isoElement(letter byte, n int) string {
	switch {
	case letter == 'y' || letter == 'u' || letter == 'Y':
		if n == 2 {
			return "06"
		}
		return strings.Repeat("0", max(n-4, 0)) + "2006"
	case letter == 'S' && n <= 9:
		return strings.Repeat("0", n)
	case n <= len(isoElements[letter]):
		return isoElements[letter][n-1]
	}
	return ""
}

// percentLayout turns a format of bleve's parser percentstyle, that of C's strftime, into a layout of
// package time.
func percentLayout(format string) (string, error) {
	var b strings.Builder
	for {
		text, rest, found := strings.Cut(format, "%")
		b.WriteString(text)
		if !found {
			return b.String(), nil
		}
		if rest == "" {
			return "", fmt.Errorf("nothing follows the last %q", "%")
		}
		format = rest
		longest := ""
		for name := range percentElements {
			if strings.HasPrefix(rest, name) && len(name) > len(longest) {
				longest = name
			}
		}
		if longest == "" {
			return "", fmt.Errorf("%q is unknown", "%"+rest[:1])
		}
		b.WriteString(percentElements[longest])
		format = rest[len(longest):]
	}
}

// percentElements are elements of a layout by what follows the percent sign.
var percentElements = map[string]string{
	"%": "%", "a": "Mon", "A": "Monday", "d": "02", "e": "2", "b": "Jan", "B": "January", "m": "01", "y": "06", "Y": "2006", "H": "15", "I": "03",
	"l": "3", "p": "PM", "P": "pm", "M": "04", "S": "05", "f": "999999", "Z": "MST", "o": "1", "i": "4", "s": "5", "N": "999999999",
	"z": "Z0700", "z:M": "Z07:00", "z:S": "Z07:00:00", "zH": "Z07", "zS": "Z070000",
}
