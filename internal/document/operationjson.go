package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/riffle-search/riffle/internal/geo"
)

// The JSON form of an operation keeps all that a log record does: kinds and rules of values.
//
//	{"put": "moby", "fields": {"title": "Moby Dick", "tags": ["whale", "sea"], "year": 1851,
//	    "published": {"time": "1851-10-18T00:00:00Z"}, "secret": {"value": "x", "noindex": true, "nostore": true}}}
//	{"update": "moby", "fields": {"sold": 17, "offer": null}}
//	{"delete": "moby", "if_version": 7}
//
// "if_version" is the condition of either kind (Operation.Conditional).
// Names are flat ("author.name"), so that an object is always a value: a time, a place
// ({"place": {"lat": 52.52, "lon": 13.405}}), one with rules, or a text that is not UTF-8, in base64
// ({"bytes": "/w=="}). An id that is not UTF-8 is such an object, too.

type valueJSON struct {
	Value   any        `json:"value,omitempty"`
	Time    *time.Time `json:"time,omitempty"`
	Place   *geo.Point `json:"place,omitempty"`
	Bytes   *[]byte    `json:"bytes,omitempty"`
	Keyword bool       `json:"keyword,omitempty"`
	NoIndex bool       `json:"noindex,omitempty"`
	NoStore bool       `json:"nostore,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (op Operation) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	id, err := json.Marshal(textJSON(op.ID))
	if err != nil {
		return nil, err
	}
	condition := ""
	if op.Conditional {
		condition = fmt.Sprintf(`,"if_version":%d`, op.Version)
	}
	if op.Delete {
		return fmt.Appendf(nil, `{"delete":%s%s}`, id, condition), nil
	}
	verb := "put"
	if op.Update {
		verb = "update"
	}
	fmt.Fprintf(&b, `{%q:%s%s,"fields":{`, verb, id, condition)
	byName := map[string][]any{}
	var names []string // in order of appearance
	for _, v := range op.Values {
		if byName[v.Name] == nil {
			names = append(names, v.Name)
		}
		byName[v.Name] = append(byName[v.Name], v.json())
	}
	for i, name := range names {
		if i > 0 {
			b.WriteByte(',')
		}
		var value any = byName[name]
		if vals := byName[name]; len(vals) == 1 {
			value = vals[0]
		}
		text, err := json.Marshal(value)
		if err != nil {
			return nil, &Error{ID: op.ID, Field: ShortName(name), Err: err}
		}
		key, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%s:%s", key, text)
	}
	for i, name := range op.Clear {
		if i+len(names) > 0 {
			b.WriteByte(',')
		}
		key, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%s:null", key)
	}
	b.WriteString("}}")
	return b.Bytes(), nil
}

// textJSON is a text, or an object if it is not UTF-8.
func textJSON(s string) any {
	if utf8.ValidString(s) {
		return s
	}
	raw := []byte(s)
	return valueJSON{Bytes: &raw}
}

func (v Value) json() any {
	j := valueJSON{Keyword: v.rules&ruleKeyword != 0, NoIndex: v.rules&ruleNoIndex != 0, NoStore: v.rules&ruleNoStore != 0}
	switch plain := v.any().(type) {
	case time.Time:
		j.Time = &plain
		return j
	case geo.Point:
		j.Place = &plain
		return j
	case string:
		if !utf8.ValidString(plain) {
			raw := []byte(plain)
			j.Bytes = &raw
			return j
		}
		j.Value = plain
	default:
		j.Value = plain
	}
	if v.rules&keptRules == 0 {
		return j.Value
	}
	return j
}

// UnmarshalJSON implements json.Unmarshaler. Values are checked as those of Flatten are.
func (op *Operation) UnmarshalJSON(data []byte) error {
	var j struct {
		Put       json.RawMessage `json:"put"`
		Update    json.RawMessage `json:"update"`
		Delete    json.RawMessage `json:"delete"`
		Fields    json.RawMessage `json:"fields"`
		IfVersion *uint64         `json:"if_version"`
	}
	if err := DecodeObject(data, &j); err != nil {
		return err
	}
	var id json.RawMessage
	verbs := 0
	for _, verb := range [...]json.RawMessage{j.Put, j.Update, j.Delete} {
		if verb != nil {
			id = verb
			verbs++
		}
	}
	if verbs != 1 || j.Delete != nil && j.Fields != nil || j.Update != nil && j.Fields == nil {
		return errors.New(`a change is {"put": ID, "fields": {…}}, {"update": ID, "fields": {…}} or {"delete": ID}`)
	}
	*op = Operation{Delete: j.Delete != nil, Update: j.Update != nil}
	if j.IfVersion != nil {
		op.Conditional, op.Version = true, *j.IfVersion
	}
	v, err := parseValue(id)
	if err != nil || v.Kind != KindText || v.rules != 0 {
		return errors.New("an id is a text")
	}
	op.ID = v.Str
	if err := CheckID(op.ID); err != nil {
		return err
	}
	var f Flattener
	if op.Update {
		f.cleared = new([]string)
	}
	if j.Fields != nil {
		if err := f.parseFields(j.Fields); err != nil {
			return &Error{ID: op.ID, Err: err}
		}
	}
	if f.Err != nil {
		var de *Error
		if errors.As(f.Err, &de) {
			de.ID = op.ID
		}
		return f.Err
	}
	op.Values = f.Values
	if op.Update {
		update, updateErr := f.update(op.ID)
		update.Conditional, update.Version = op.Conditional, op.Version
		*op, err = update, updateErr
	}
	return err
}

// parseFields reads the members of an object in their order.
func (f *Flattener) parseFields(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return errors.New(`"fields" is no object`)
	}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return err
		}
		name, _ := t.(string)
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return err
		}
		elements := []json.RawMessage{raw}
		if raw[0] == '[' {
			if err := json.Unmarshal(raw, &elements); err != nil {
				return err
			}
		}
		if len(elements) == 0 || string(raw) == "null" && f.cleared != nil {
			f.clear(name)
			continue
		}
		for _, element := range elements {
			v, err := parseValue(element)
			if err != nil {
				return fmt.Errorf("field %q: %w", ShortName(name), err)
			}
			v.Name = name
			f.rules = v.rules
			f.Put(v)
		}
	}
	return nil
}

// parseValue reads what json writes, without the name.
func parseValue(data []byte) (Value, error) {
	var j valueJSON
	if len(data) > 0 && data[0] == '{' {
		if err := DecodeObject(data, &j); err != nil {
			return Value{}, err
		}
	} else if err := DecodeObject(fmt.Appendf(nil, `{"value":%s}`, data), &j); err != nil {
		return Value{}, err
	}
	var v Value
	forms := 0
	for _, is := range [...]bool{j.Value != nil, j.Time != nil, j.Place != nil, j.Bytes != nil} {
		if is {
			forms++
		}
	}
	switch {
	case forms != 1:
		return v, errors.New(`an object is a value with one of "value", "time", "place" and "bytes"`)
	case j.Time != nil:
		v = Time("", *j.Time)
	case j.Place != nil:
		if err := j.Place.Check(); err != nil {
			return v, err
		}
		v = Place("", *j.Place)
	case j.Bytes != nil:
		v = Text("", string(*j.Bytes))
	default:
		var f Flattener
		switch j.Value.(type) {
		case string, bool, json.Number:
			f.addAny("value", j.Value, 0)
		}
		if f.Err != nil || len(f.Values) != 1 {
			return v, errors.New("a value is a text, a number or a boolean")
		}
		v = f.Values[0]
	}
	for _, r := range [...]struct {
		set  bool
		rule rules
	}{{j.Keyword, ruleKeyword}, {j.NoIndex, ruleNoIndex}, {j.NoStore, ruleNoStore}} {
		if r.set {
			v.rules |= r.rule
		}
	}
	return v, nil
}
