package listcache

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// A script is a cache and the lists that its lines name.
type script struct {
	cache  *Cache
	buffer Region
	lists  map[string]Need
	names  []string
}

// TestScript runs testdata/*, which show what is admitted and evicted. Commands are
//
//	cache rows=N policy=P lambda=L static half-life=N buffer=N
//	lists         a line each: name, head=(rows of parts) extents=(rows)
//	count, place  a query or a batch: a line for each list, name, queries=N wanted=(extents) leave version=N
//	admit, reset, drop list=NAME, show
func TestScript(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		s := &script{lists: map[string]Need{}}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "cache":
				return s.open(d)
			case "lists":
				return s.define(d)
			case "count":
				s.cache.Count(s.needs(d))
				return ""
			case "place":
				return s.place(s.needs(d))
			case "admit":
				s.cache.Admit()
			case "reset":
				s.cache.Reset()
			case "drop":
				key := s.lists[d.CmdArgs[0].Vals[0]].Key
				s.cache.Drop(func(k uint64) bool { return k == key })
			case "show":
			default:
				t.Fatalf("unknown command %s", d.Cmd)
			}
			checkSlots(t, s.cache)
			return s.show()
		})
	})
}

func (s *script) open(d *datadriven.TestData) string {
	c := Config{HalfLife: 1000}
	s.buffer.Rows = 1000
	for _, a := range d.CmdArgs {
		switch value := append(a.Vals, "")[0]; a.Key {
		case "rows":
			c.Region.Rows = uint32(number(value))
		case "policy":
			c.Policy, _ = ParsePolicy(value)
		case "lambda":
			c.Lambda, _ = strconv.ParseFloat(value, 64)
		case "static":
			c.Static = true
		case "half-life":
			c.HalfLife = number(value)
		case "buffer":
			s.buffer.Rows = uint32(number(value))
		}
	}
	s.buffer.First = c.Region.Rows
	var err error
	if s.cache, err = New(c); err != nil {
		return err.Error()
	}
	return ""
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}

// define reads lists. Their keys are their numbers.
func (s *script) define(d *datadriven.TestData) string {
	for line := range strings.Lines(d.Input) {
		name, args, err := datadriven.ParseLine(strings.TrimSpace(line))
		if err != nil {
			return err.Error()
		}
		n := Need{Key: uint64(len(s.lists) + 1)}
		for _, a := range args {
			for _, v := range a.Vals {
				if rows := uint32(number(v)); a.Key == "head" {
					n.Head = append(n.Head, rows)
				} else {
					n.Extents = append(n.Extents, rows)
				}
			}
		}
		s.lists[name] = n
		s.names = append(s.names, name)
	}
	return ""
}

// needs reads the lists of a query or a batch.
func (s *script) needs(d *datadriven.TestData) (needs []Need) {
	for line := range strings.Lines(d.Input) {
		name, args, err := datadriven.ParseLine(strings.TrimSpace(line))
		if err != nil {
			panic(err)
		}
		n, ok := s.lists[name]
		if !ok {
			panic("no list " + name)
		}
		for _, a := range args {
			switch a.Key {
			case "queries":
				n.Queries = number(a.Vals[0])
			case "version":
				n.Version = uint64(number(a.Vals[0]))
			case "leave":
				n.Leave = true
			case "wanted":
				n.Wanted = make([]uint64, (len(n.Extents)+63)/64)
				for _, v := range a.Vals {
					n.Wanted[number(v)/64] |= 1 << (number(v) % 64)
				}
			}
		}
		needs = append(needs, n)
	}
	return needs
}

// place places a batch and prints where each piece is.
func (s *script) place(needs []Need) string {
	var b Batch
	s.cache.Place(needs, s.buffer, &b)
	out := new(strings.Builder)
	for i, p := range b.Lists {
		fmt.Fprintf(out, "%s:", s.names[needs[i].Key-1])
		for piece := -len(p.Head); piece < len(p.Extents); piece++ {
			fmt.Fprintf(out, " %s", s.where(&b, &p, i, piece))
		}
		if !p.Complete {
			out.WriteString(" incomplete")
		}
		out.WriteByte('\n')
	}
	fmt.Fprintf(out, "copied %d rows\n", b.Rows)
	return out.String()
}

// where says in a word where a piece is: "here" already, "in" the cache as of this batch, in the
// "buffer", or "-" for nowhere.
func (s *script) where(b *Batch, p *Placed, list, piece int) string {
	name, row := fmt.Sprint(piece), uint32(0)
	if piece < 0 {
		name, row = fmt.Sprintf("h%d", -1-piece), p.Head[-1-piece]
	} else {
		row = p.Extents[piece]
	}
	state := "here"
	if row == Missing {
		state = "-"
	}
	for _, c := range b.Copies {
		if int(c.List) == list && int(c.Piece) == piece {
			if state = "buffer"; c.Row != c.At {
				state = "in"
			}
		}
	}
	return name + "=" + state
}

// show prints the contents of the cache.
func (s *script) show() string {
	out := new(strings.Builder)
	for _, key := range slices.Sorted(maps.Keys(s.cache.entries)) {
		e := s.cache.entries[key]
		if e.headAt == nil {
			continue
		}
		fmt.Fprintf(out, "%s:", s.names[key-1])
		for x, rows := range e.sizes {
			if rows > 0 && e.place(x) != Missing {
				fmt.Fprintf(out, " %d", x)
			}
		}
		fmt.Fprintf(out, "  queries %v\n", math.Round(float64(e.queries)*100)/100)
	}
	st := s.cache.Stats()
	fmt.Fprintf(out, "%d of %d rows, hit rate %.2f\n", st.UsedBytes/RowBytes, st.Bytes/RowBytes, st.HitRate())
	return out.String()
}
