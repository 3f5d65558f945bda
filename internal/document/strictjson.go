package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"unicode/utf8"
)

// DecodeObject reads one JSON object as json.Unmarshal does, but refuses members that v lacks,
// anything after the object, and text that is not UTF-8. Numbers in an interface are json.Number:
// they keep all their digits.
func DecodeObject(text []byte, v any) error {
	if !utf8.Valid(text) {
		return errors.New("the text is not UTF-8")
	}
	if t := bytes.TrimSpace(text); len(t) == 0 || t[0] != '{' {
		return errors.New("an object is wanted")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("more than one JSON value")
	}
	return nil
}
