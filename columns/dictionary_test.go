package columns

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"
)

// dictionaries returns lists of terms, ascending.
func dictionaries() map[string][]string {
	rng := rand.New(rand.NewPCG(17, 18))
	all := map[string][]string{"none": {}, "one": {"a"}, "levels": {"debug", "error", "info", "warn"}}
	for name, makeTerm := range map[string]func() string{
		"words":    func() string { return fmt.Sprintf("%x", rng.Uint32()) },
		"paths":    func() string { return fmt.Sprintf("/var/log/service-%03d/%d.log", rng.IntN(300), rng.IntN(1e6)) },
		"long":     func() string { return strings.Repeat("x", rng.IntN(3000)) + fmt.Sprint(rng.IntN(50)) },
		"enormous": func() string { return strings.Repeat("y", 1+rng.IntN(100_000)) },
	} {
		n := map[string]int{"words": 20000, "paths": 20000, "long": 500, "enormous": 20}[name]
		for range n {
			all[name] = append(all[name], makeTerm())
		}
		slices.Sort(all[name])
		all[name] = slices.Compact(all[name])
	}
	return all
}

// TestDictionary compares dictionaries with sorted slices, as stored and in views.
func TestDictionary(t *testing.T) {
	for name, terms := range dictionaries() {
		t.Run(name, func(t *testing.T) {
			m := model{kind: Terms, docs: make([][]uint64, 10)}
			if len(terms) > 0 {
				m.docs[3] = []uint64{uint64(len(terms) - 1), 0}
			}
			b := NewBuilder(Terms, nil)
			add(t, b, m, terms)
			view, err := b.View(10)
			if err != nil {
				t.Fatal(err)
			}
			checkDictionary(t, view.Dictionary(), terms)
			stored := build(t, m, terms...)
			if len(terms) == 0 {
				return
			}
			c := open(t, stored)
			checkDictionary(t, c.Dictionary(), terms)
			c.Drop()
			checkDictionary(t, c.Dictionary(), terms)
		})
	}
}

func checkDictionary(t *testing.T, d *Dictionary, terms []string) {
	t.Helper()
	if d.Len() != len(terms) {
		t.Fatalf("%d terms, want %d", d.Len(), len(terms))
	}
	for ord, term := range terms {
		got, err := d.AppendTerm([]byte("before "), uint64(ord))
		if err != nil || string(got) != "before "+term {
			t.Fatalf("term %d is %.50q, %v, want %.50q", ord, got, err, term)
		}
		for _, probe := range []string{term, term + "\x00", term[:len(term)-1], term[:len(term)/2], "", "\xff"} {
			want := sort.SearchStrings(terms, probe)
			at, found, err := d.Find([]byte(probe))
			if err != nil || at != want || found != (want < len(terms) && terms[want] == probe) {
				t.Fatalf("%.50q is at %d %v %v, want %d", probe, at, found, err, want)
			}
		}
	}
	if _, err := d.AppendTerm(nil, uint64(len(terms))); err == nil {
		t.Error("a term behind the last")
	}
	rng := rand.New(rand.NewPCG(19, 20))
	for range 20 {
		from := rng.IntN(len(terms) + 1)
		to := from + rng.IntN(len(terms)-from+1)
		next := from
		err := d.Each(from, to, func(ord int, term []byte) error {
			if ord != next || string(term) != terms[ord] {
				return fmt.Errorf("term %d is %q, want %d", ord, term, next)
			}
			next++
			return nil
		})
		if err != nil || next != to {
			t.Fatalf("terms %d to %d ended with %d: %v", from, to, next, err)
		}
	}
}
