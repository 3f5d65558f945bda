package document

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/riffle-search/riffle/internal/geo"
)

// maxDepth bounds the nesting of a document, so that a cyclic one ends in an error.
const maxDepth = 32

// Flatten turns a document into field values. It accepts maps with string keys, structs, and
// pointers to them. They may contain strings, byte slices (as text), booleans, numbers,
// json.Number, time.Time, geo.Point, slices and arrays of these (several values of one field), and further
// maps and structs (fields named outer.inner). Nil values are left out. Map entries are taken in
// the order of their names.
//
// A struct field is named by its tag, `riffle:"name"`, or else by its Go name. The tag `riffle:"-"`
// leaves it out; unexported fields are left out, too. The exported fields of an embedded struct are
// fields of the outer one. The rest of the tag (see SchemaOf) applies to the values of the field,
// and to those of the fields within it.
//
// A slice, an array, or a struct without exported fields that has a method MarshalText becomes the
// text that MarshalText returns; netip.Addr is an example. Other structs without exported fields,
// and the numbers of math/big, are errors.
func Flatten(doc any) ([]Value, error) {
	f := Flattener{}
	err := f.Flatten(doc)
	return f.Values, err
}

// One returns the value of which Flatten makes a field of a document, and how many it makes: 1 for most.
func One(name string, value any) (v Value, n int, err error) {
	f := Flattener{}
	f.addAny(name, value, 1)
	if len(f.Values) > 0 {
		v = f.Values[0]
	}
	return v, len(f.Values), f.Err
}

// Flatten appends the values of a document to Values, as the function Flatten returns them.
func (f *Flattener) Flatten(doc any) error {
	if stored, ok := doc.(Stored); ok {
		for _, v := range stored {
			f.rules = v.rules
			f.Put(v)
		}
		f.rules = 0
		return f.Err
	}
	if m, ok := doc.(map[string]any); ok {
		f.addFields("", m, 0)
		return f.Err
	}
	v := reflect.ValueOf(doc)
	for depth := 0; v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface; depth++ {
		if depth > maxDepth {
			return fmt.Errorf("nested deeper than %d", maxDepth)
		}
		v = v.Elem()
	}
	switch {
	case !v.IsValid():
		return errors.New("the document is nil")
	case v.Kind() == reflect.Map, v.Kind() == reflect.Struct && !isValue(v.Type()):
		f.add("", v, 0)
	default:
		return fmt.Errorf("a document is a map or a struct, not %s", v.Type())
	}
	return f.Err
}

var (
	timeType      = reflect.TypeFor[time.Time]()
	pointType     = reflect.TypeFor[geo.Point]()
	numberType    = reflect.TypeFor[json.Number]()
	marshalerType = reflect.TypeFor[encoding.TextMarshaler]()
)

// isValue reports whether a struct is a value, not an object.
func isValue(t reflect.Type) bool { return t == timeType || t == pointType }

// A Flattener is Flatten for a series of documents, or for one whose values come one by one.
type Flattener struct {
	Values []Value
	size   int      // of the values, as MaxDocumentBytes counts
	names  []string // keys of the current maps, each after those of the outer one
	rules  rules    // of the struct fields around the current value
	Err    error    // a *Error without an id

	cleared *[]string // fields without a value; nil for those of a document, which mean nothing
}

// Reset prepares a flattener for the next document. The values of the last one are gone.
func (f *Flattener) Reset() {
	f.Values, f.size, f.names, f.rules, f.Err = f.Values[:0], 0, f.names[:0], 0, nil
}

func (f *Flattener) fail(name, format string, args ...any) {
	if f.Err == nil {
		f.Err = &Error{Field: ShortName(name), Err: fmt.Errorf(format, args...)}
	}
}

// Put adds a value. If the value is invalid, or makes the document so, the error goes to Err, which
// keeps the first one.
func (f *Flattener) Put(v Value) {
	n := len(f.Values)
	if n == MaxFields {
		f.fail(v.Name, "more than %d values", MaxFields)
		return
	}
	if n == 0 || v.Name != f.Values[n-1].Name { // most values of an array come here with one name
		if err := CheckName(v.Name); err != nil {
			f.fail(v.Name, "%w", err)
			return
		}
	}
	if f.size += len(v.Name) + len(v.Str) + 16; f.size > MaxDocumentBytes {
		f.fail(v.Name, "the document takes more than %d bytes", MaxDocumentBytes)
		return
	}
	v.rules = f.rules
	f.Values = append(f.Values, v)
}

// addFields is addMap without reflection, for the type of map that nearly all documents are.
func (f *Flattener) addFields(name string, m map[string]any, depth int) {
	begin := len(f.names)
	for key := range m {
		f.names = append(f.names, key)
	}
	end := len(f.names)
	slices.Sort(f.names[begin:])
	for i := begin; i < end; i++ {
		key := f.names[i]
		if key == "" {
			f.fail(name, "a field needs a name")
			break
		}
		if f.addAny(join(name, key), m[key], depth+1); f.Err != nil {
			break // do not prefix all further names with a long one
		}
	}
	f.names = f.names[:begin]
}

func (f *Flattener) addAny(name string, v any, depth int) {
	if f.Err == nil && depth <= maxDepth {
		switch v := v.(type) {
		case string:
			f.Put(Text(name, v))
			return
		case int:
			f.Put(Int(name, int64(v)))
			return
		case int64:
			f.Put(Int(name, v))
			return
		case float64:
			f.AddFloat(name, v)
			return
		case time.Time:
			f.Put(Time(name, v))
			return
		case map[string]any:
			f.addFields(name, v, depth)
			return
		}
	}
	f.add(name, reflect.ValueOf(v), depth)
}

func (f *Flattener) add(name string, v reflect.Value, depth int) {
	if f.Err != nil {
		return
	}
	if depth > maxDepth {
		f.fail(name, "nested deeper than %d", maxDepth)
		return
	}
	if !v.IsValid() {
		f.clear(name)
		return
	}
	switch v.Kind() {
	case reflect.Interface: // no level of its own: map[string]any nests as deep as JSON
		f.add(name, v.Elem(), depth)
	case reflect.Pointer:
		f.add(name, v.Elem(), depth+1)
	case reflect.String:
		if v.Type() == numberType {
			f.addNumber(name, json.Number(v.String()))
			return
		}
		f.Put(Text(name, v.String()))
	case reflect.Bool:
		f.Put(Bool(name, v.Bool()))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		f.Put(Int(name, v.Int()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		f.Put(Uint(name, v.Uint()))
	case reflect.Float32, reflect.Float64:
		f.AddFloat(name, v.Float())
	case reflect.Slice, reflect.Array:
		f.addSlice(name, v, depth)
	case reflect.Map:
		f.addMap(name, v, depth)
	case reflect.Struct:
		f.addStruct(name, v, depth)
	default:
		f.fail(name, "a %s cannot be indexed", v.Type())
	}
}

func (f *Flattener) addNumber(name string, s json.Number) {
	if i, err := s.Int64(); err == nil {
		f.Put(Int(name, i))
	} else if u, err := strconv.ParseUint(s.String(), 10, 64); err == nil {
		f.Put(Uint(name, u))
	} else if x, err := s.Float64(); err == nil {
		f.AddFloat(name, x)
	} else {
		f.fail(name, "%q is not a number", string(s))
	}
}

// AddFloat is Put for a floating-point number, which must be finite.
func (f *Flattener) AddFloat(name string, x float64) {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		f.fail(name, "%v is not a number that can be indexed", x)
		return
	}
	f.Put(Float(name, x))
}

func (f *Flattener) addSlice(name string, v reflect.Value, depth int) {
	if isMarshaled(v.Type()) {
		f.addMarshaled(name, v)
		return
	}
	if v.Type().Elem().Kind() == reflect.Uint8 && v.Kind() == reflect.Slice {
		f.Put(Text(name, string(v.Bytes())))
		return
	}
	if v.Len() == 0 {
		f.clear(name)
	}
	for i := range v.Len() {
		f.add(name, v.Index(i), depth+1)
	}
}

// clear notes that a field has no value.
func (f *Flattener) clear(name string) {
	if f.cleared != nil {
		*f.cleared = append(*f.cleared, name)
	}
}

func (f *Flattener) addMap(name string, v reflect.Value, depth int) {
	if v.Type().Key().Kind() != reflect.String {
		f.fail(name, "a %s has keys that are not strings", v.Type())
		return
	}
	entries := make(map[string]reflect.Value, v.Len())
	for it := v.MapRange(); it.Next(); {
		entries[it.Key().String()] = it.Value()
	}
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		if key == "" {
			f.fail(name, "a field needs a name")
			return
		}
		if f.add(join(name, key), entries[key], depth+1); f.Err != nil {
			return
		}
	}
}

func (f *Flattener) addStruct(name string, v reflect.Value, depth int) {
	switch v.Type() {
	case timeType:
		f.Put(Time(name, v.Interface().(time.Time)))
		return
	case pointType:
		f.addPlace(name, v.Interface().(geo.Point))
		return
	}
	fields := fieldsOf(v.Type())
	if len(fields) == 0 && !hasExported(v.Type()) {
		switch {
		case depth == 0 && v.NumField() > 0:
			f.fail(name, "a document is a map or a struct with exported fields, not %s", v.Type())
		case v.Type().PkgPath() == "math/big":
			f.fail(name, "a %s cannot be indexed: put it as an int64, a float64 or a string", v.Type())
		case isMarshaled(v.Type()):
			f.addMarshaled(name, v)
		case depth > 0:
			f.fail(name, "a %s cannot be indexed: it has neither exported fields nor MarshalText; leave the field out with the tag `riffle:\"-\"`", v.Type())
		}
		return
	}
	outer := f.rules
	for _, sf := range fields {
		inner := name
		if sf.name != "" {
			inner = join(name, sf.name)
		}
		if sf.err != nil {
			f.fail(inner, "%w", sf.err)
			return
		}
		f.rules = outer | sf.rules
		f.add(inner, v.Field(sf.index), depth+1)
	}
	f.rules = outer
}

// addMarshaled adds the text that MarshalText returns, which may be a method of the pointer.
func (f *Flattener) addMarshaled(name string, v reflect.Value) {
	if !v.Type().Implements(marshalerType) {
		p := reflect.New(v.Type())
		p.Elem().Set(v)
		v = p
	}
	text, err := v.Interface().(encoding.TextMarshaler).MarshalText()
	if err != nil {
		f.fail(name, "%w", err)
		return
	}
	f.Put(Text(name, string(text)))
}

// A structField is a field of a struct that is part of a document.
type structField struct {
	name  string // empty when its fields count as those of the outer struct
	index int
	rules rules
	err   error // its tag cannot be read
}

// fieldsByType caches the results of fieldsOf: a []structField by reflect.Type.
var fieldsByType sync.Map

// fieldsOf returns the fields of a struct type that are part of a document.
func fieldsOf(t reflect.Type) []structField {
	if known, ok := fieldsByType.Load(t); ok {
		return known.([]structField)
	}
	var fields []structField
	for i := range t.NumField() {
		name, items, ok := documentField(t.Field(i))
		if !ok {
			continue
		}
		sf := structField{name: name, index: i}
		sf.rules, _, sf.err = parseTag(items)
		fields = append(fields, sf)
	}
	fieldsByType.Store(t, fields)
	return fields
}

// documentField returns the document's name of a struct field, which is empty if its fields count
// as those of the outer struct, and the items of its tag. ok is false if the field is not part of
// documents.
func documentField(sf reflect.StructField) (name string, items []string, ok bool) {
	tag := strings.Split(sf.Tag.Get("riffle"), ",")
	t := sf.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	isStruct := sf.Anonymous && t.Kind() == reflect.Struct && !isValue(t)
	switch {
	case tag[0] == "-":
		return "", nil, false
	case tag[0] != "":
		return tag[0], tag[1:], sf.IsExported()
	case isStruct && hasExported(t): // of an unexported type as well
		return "", tag[1:], true
	case isStruct && t.PkgPath() != "math/big" && !isMarshaled(t):
		return "", nil, false // sync.Mutex and the like promote no field
	}
	return sf.Name, tag[1:], sf.IsExported()
}

// hasExported reports whether a struct type has exported fields, its own or promoted ones.
func hasExported(t reflect.Type) bool { return hasExportedWithin(t, 0) }

func hasExportedWithin(t reflect.Type, depth int) bool {
	for i := range t.NumField() {
		sf := t.Field(i)
		if sf.IsExported() {
			return true
		}
		et := sf.Type
		if et.Kind() == reflect.Pointer {
			et = et.Elem()
		}
		if sf.Anonymous && et.Kind() == reflect.Struct && depth < maxDepth && hasExportedWithin(et, depth+1) {
			return true
		}
	}
	return false
}

func join(outer, inner string) string {
	if outer == "" {
		return inner
	}
	return outer + "." + inner
}

// Unflatten returns values in the public shape of a document: a map from field name to value, or to
// []any if a field has several.
func Unflatten(vals []Value) map[string]any {
	m := make(map[string]any, len(vals))
	for _, v := range vals {
		addField(m, v)
	}
	return m
}

// addField adds a value to those of its name.
func addField(fields map[string]any, v Value) {
	switch old := fields[v.Name].(type) {
	case nil:
		fields[v.Name] = v.any()
	case []any:
		fields[v.Name] = append(old, v.any())
	default:
		fields[v.Name] = []any{old, v.any()}
	}
}

// SchemaOf derives a schema from the tags of a struct, or a pointer to one:
//
//	type Page struct {
//		Title string    `riffle:"title,analyzer=english"`
//		URL   string    `riffle:"url,keyword,nostore"`
//		Size  int       `riffle:"size,noindex"`
//		Seen  time.Time `riffle:"seen"`
//	}
//
// The first item is the field's name; then, in any order, keyword, place, noindex, nostore and
// analyzer=NAME. The type follows from the Go type; place makes a place of a struct with Lat and Lon
// named lat and lon, a pair of a longitude and a latitude, or a string. Fields of nested structs get dotted names and
// the rules of the struct; those of an embedded struct are fields of the outer one. Maps and
// interfaces are left to Schema.Dynamic.
//
// Put and Build read the same tags: keyword, noindex and nostore also apply to fields that no
// schema declares. An analyzer must be declared in the schema.
func SchemaOf(doc any) (*Schema, error) {
	t := reflect.TypeOf(doc)
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct || isValue(t) {
		return nil, fmt.Errorf("riffle: SchemaOf takes a struct, not %T", doc)
	}
	s := &Schema{Fields: map[string]Field{}}
	if err := s.addStruct("", t, 0, 0); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Schema) addStruct(prefix string, t reflect.Type, outer rules, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("riffle: SchemaOf: field %q is nested deeper than %d", prefix, maxDepth)
	}
	for i := range t.NumField() {
		sf := t.Field(i)
		tag, items, ok := documentField(sf)
		if !ok {
			continue
		}
		name := prefix
		if tag != "" {
			name = join(prefix, tag)
		}
		fault := func(err error) error { return fmt.Errorf("riffle: SchemaOf: field %q: %w", name, err) }
		r, analyzer, err := parseTag(items)
		if err != nil {
			return fault(err)
		}
		et := elementOf(sf.Type)
		switch {
		case r&rulePlace != 0: // whatever its type is, the values decide
		case isDocument(et):
			if analyzer != "" {
				return fault(fmt.Errorf("tag item %q is not understood for a %s", "analyzer="+analyzer, et))
			}
			err := s.addStruct(name, et, outer|r, depth+1)
			if err != nil {
				return err
			}
			continue
		case et.Kind() == reflect.Map && et.Key().Kind() == reflect.String, et.Kind() == reflect.Interface:
			continue // only documents reveal its fields; their tags apply without a schema
		}
		f, err := fieldOf(et, r, outer, analyzer)
		if err == nil {
			err = CheckName(name)
		}
		if err != nil {
			return fault(err)
		}
		s.Fields[name] = f
	}
	return nil
}

// isDocument reports whether values of a type are structs that become fields of their own.
func isDocument(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && !isValue(t) && hasExported(t)
}

// elementOf returns the type of a field's single values. (A type such as []T that
// is its own T has none, and is returned.)
func elementOf(t reflect.Type) reflect.Type {
	for range maxDepth {
		k := t.Kind()
		if isMarshaled(t) || k != reflect.Pointer && k != reflect.Array && (k != reflect.Slice || t.Elem().Kind() == reflect.Uint8) {
			break
		}
		t = t.Elem()
	}
	return t
}

// fieldOf declares a field of a type, with the rules of its tag and those of the structs around it.
func fieldOf(t reflect.Type, r, outer rules, analyzer string) (Field, error) {
	f := Field{Analyzer: analyzer, NoIndex: (r|outer)&ruleNoIndex != 0, NoStore: (r|outer)&ruleNoStore != 0}
	switch k := t.Kind(); {
	case t == timeType:
		f.Type = DateField
	case t == pointType, r&rulePlace != 0:
		f.Type = PlaceField
	case t == numberType:
		f.Type = NumberField
	case k == reflect.Bool:
		f.Type = BoolField
	case k >= reflect.Int && k <= reflect.Float64:
		f.Type = NumberField
	case k == reflect.String, k == reflect.Slice && t.Elem().Kind() == reflect.Uint8, isMarshaled(t):
		f.Type = TextField
	default:
		return f, fmt.Errorf("a %s cannot be indexed", t)
	}
	switch {
	case f.Type == TextField && (r|outer)&ruleKeyword != 0:
		f.Type = KeywordField
	case f.Type == TextField:
	case r&ruleKeyword != 0:
		return f, fmt.Errorf("tag item %q is not understood for a %s", "keyword", t)
	case r&ruleAnalyzer != 0:
		return f, fmt.Errorf("tag item %q is not understood for a %s", "analyzer="+analyzer, t)
	}
	return f, nil
}

// isMarshaled reports whether values of a type become the text of their MarshalText.
func isMarshaled(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Struct, reflect.Array, reflect.Slice:
		// Nearly all slices and arrays have unnamed types, which have no methods.
		return t.PkgPath() != "math/big" && (t.Kind() == reflect.Struct || t.Name() != "") && (t.Implements(marshalerType) || reflect.PointerTo(t).Implements(marshalerType))
	}
	return false
}
