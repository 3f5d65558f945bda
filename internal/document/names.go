package document

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// CheckName reports whether a field or an analyzer may have this name. The index stores names as
// JSON, which cannot represent bytes that are not UTF-8: it would return another name, under which
// nothing is found.
func CheckName(name string) error {
	switch {
	case name == "":
		return errors.New("a field needs a name")
	case len(name) > MaxNameBytes:
		return fmt.Errorf("a name of %d bytes, at most %d are allowed", len(name), MaxNameBytes)
	case !utf8.ValidString(name):
		return errors.New("the name is not UTF-8")
	}
	return nil
}

// ShortName is a name as errors show it.
func ShortName(name string) string {
	if len(name) > MaxNameBytes {
		return name[:32] + "…"
	}
	return name
}

// asKept returns a name as the JSON of a schema returns it: each byte that is not UTF-8 has become
// U+FFFD.
func asKept(name string) string {
	if utf8.ValidString(name) {
		return name
	}
	return string([]rune(name))
}
