package riffle

import (
	"errors"
	"reflect"
	"slices"
	"testing"
)

// TestJoinListeners: each function of each listener is called once for an event, in order; functions that none has
// stay nil, so that the engine does not prepare their events.
func TestJoinListeners(t *testing.T) {
	var calls []string
	// full returns a Listener with all functions, also those that are added to it later.
	full := func(name string) *Listener {
		l := new(Listener)
		v := reflect.ValueOf(l).Elem()
		for i := range v.NumField() {
			field := v.Type().Field(i).Name
			v.Field(i).Set(reflect.MakeFunc(v.Field(i).Type(), func([]reflect.Value) []reflect.Value {
				calls = append(calls, name+"."+field)
				return nil
			}))
		}
		return l
	}
	joined := reflect.ValueOf(JoinListeners(full("a"), nil, new(Listener), full("b"))).Elem()
	for i := range joined.NumField() {
		field := joined.Type().Field(i).Name
		if joined.Field(i).IsNil() {
			t.Errorf("%s is not joined", field)
			continue
		}
		calls = nil
		joined.Field(i).Call([]reflect.Value{reflect.Zero(joined.Field(i).Type().In(0))})
		if want := []string{"a." + field, "b." + field}; !slices.Equal(calls, want) {
			t.Errorf("%s calls %q, want %q", field, calls, want)
		}
	}
	one := JoinListeners(nil, &Listener{Failed: func(error) { calls = []string{"failed"} }})
	if one.Failed(errors.New("disk")); !slices.Equal(calls, []string{"failed"}) {
		t.Errorf("a single function: %q", calls)
	}
	if none := JoinListeners(nil, new(Listener)); !reflect.ValueOf(*none).IsZero() {
		t.Errorf("a listener of none has functions: %+v", none)
	}
}
