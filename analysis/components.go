package analysis

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// components are the constructors of a kind of component, by type.
type components[T any] struct {
	sync.RWMutex
	by map[string]constructor[T]
}

// A constructor makes a component of its parameters.
type constructor[T any] struct {
	params []string // the names of all parameters
	make   func(params map[string]any, as *Assembly) (T, error)
}

var (
	charFilters  = &components[CharFilter]{by: map[string]constructor[CharFilter]{}}
	tokenizers   = &components[Tokenizer]{by: map[string]constructor[Tokenizer]{}}
	tokenFilters = &components[Filter]{by: map[string]constructor[Filter]{}}
)

// RegisterCharFilter makes a char filter known to declarations. P is a struct whose exported fields
// are the parameters, with their names as json tags. It fails with ErrExists if the type is taken:
// an index stores declarations, so a type must mean one thing for good.
func RegisterCharFilter[P any](typ string, constructor func(params P, as *Assembly) (CharFilter, error)) error {
	return register(charFilters, typ, constructor)
}

// RegisterTokenizer makes a tokenizer known to declarations, as RegisterCharFilter does.
func RegisterTokenizer[P any](typ string, constructor func(params P, as *Assembly) (Tokenizer, error)) error {
	return register(tokenizers, typ, constructor)
}

// RegisterFilter makes a filter known to declarations, as RegisterCharFilter does.
func RegisterFilter[P any](typ string, constructor func(params P, as *Assembly) (Filter, error)) error {
	return register(tokenFilters, typ, constructor)
}

func register[T, P any](cs *components[T], typ string, build func(params P, as *Assembly) (T, error)) error {
	if typ == "" || build == nil {
		return errors.New("analysis: a component needs a type and a constructor")
	}
	c := constructor[T]{params: paramNames(reflect.TypeFor[P]())}
	c.make = func(params map[string]any, as *Assembly) (T, error) {
		var p P
		if err := decodeParams(params, c.params, &p); err != nil {
			return *new(T), err
		}
		return build(p, as)
	}
	cs.Lock()
	defer cs.Unlock()
	if _, ok := cs.by[typ]; ok {
		return fmt.Errorf("analysis: %w: component %q", ErrExists, typ)
	}
	cs.by[typ] = c
	return nil
}

// paramNames returns the json names of a struct's fields.
func paramNames(t reflect.Type) (names []string) {
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// decodeParams reads parameters into a struct with these fields.
func decodeParams(params map[string]any, names []string, into any) error {
	for _, name := range slices.Sorted(maps.Keys(params)) {
		if !slices.Contains(names, name) {
			if len(names) == 0 {
				return fmt.Errorf("unknown parameter %q; it has none", short(name))
			}
			return fmt.Errorf("unknown parameter %q; it has %s", short(name), strings.Join(names, ", "))
		}
	}
	if len(params) == 0 {
		return nil
	}
	text, err := json.Marshal(params)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err = d.Decode(into)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Errorf("%s: %s is wanted, not a %s", wrong.Field, wanted(wrong.Type), wrong.Value)
	}
	return err
}

// wanted names a type of parameters.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int:
		return "a whole number"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	}
	return "a text"
}

// build makes a component. An error is a placed one.
func build[T any](cs *components[T], kind string, c Component, as *Assembly) (T, error) {
	cs.RLock()
	made, ok := cs.by[c.Type]
	cs.RUnlock()
	if !ok {
		return *new(T), placed{c, fmt.Errorf("unknown %s; known are %s (more: import analysis/lang or analysis/bleve)", kind, strings.Join(cs.types(), ", "))}
	}
	x, err := made.make(c.Params, as)
	if err != nil {
		return *new(T), placed{c, err}
	}
	return x, nil
}

func (cs *components[T]) types() []string {
	cs.RLock()
	defer cs.RUnlock()
	return slices.Sorted(maps.Keys(cs.by))
}

// wordSets are lists of words that parameters can name.
var wordSets = struct {
	sync.RWMutex
	by map[string]func() []string
}{by: map[string]func() []string{"english": func() []string { return EnglishStopWords }}}

// RegisterWords makes a list of words known to declarations: the parameter "set" of stop and of
// keyword_marker. words is called when a set is used. It fails with ErrExists if the name is taken.
func RegisterWords(name string, words func() []string) error {
	wordSets.Lock()
	defer wordSets.Unlock()
	if _, ok := wordSets.by[name]; ok || name == "" || words == nil {
		return fmt.Errorf("analysis: %w: words %q", ErrExists, name)
	}
	wordSets.by[name] = words
	return nil
}

// wordParams are the parameters of filters that have words.
type wordParams struct {
	Words []string `json:"words"`
	Set   string   `json:"set"`
}

// all returns the words, and those of the set.
func (p wordParams) all() ([]string, error) {
	words := p.Words
	if p.Set != "" {
		wordSets.RLock()
		set := wordSets.by[p.Set]
		known := slices.Sorted(maps.Keys(wordSets.by))
		wordSets.RUnlock()
		if set == nil {
			return nil, fmt.Errorf("set: unknown %q; known are %s", short(p.Set), strings.Join(known, ", "))
		}
		words = slices.Concat(words, set())
	}
	if len(words) == 0 {
		return nil, errors.New("it needs words or a set")
	}
	return words, nil
}
