package segment

import (
	"context"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/cockroachdb/datadriven"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/columns"
)

// TestScripts runs the scripts in testdata/scripts. Documents are lines of
//
//	id [stored=text] [rank=0..65535] field=term*tf,term,... [#field=term,...] [@field=value,...]
//
// where a # marks a field that keeps no lengths, and an @ the column of one. Commands:
//
//	memory name=n            documents enter a memory segment of that name
//	merge [into=name] [delete=name:doc,...] [alpha=a] name ...   and dump the keys
//	dump name                the keys of a sealed segment, with their meaning
//	values name field=f      the column of a field, by document
//	flip name key=hex bit=n  flips a bit, runs Check, flips it back
//	tail name field=f weight=w rank=w    bounds of "this tile and all later ones"
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		s := &script{memories: make(map[string]*Memory), sealed: make(map[string]*mapStore)}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s.t = t
			return s.run(d)
		})
	})
}

type script struct {
	t        *testing.T
	memories map[string]*Memory
	sealed   map[string]*mapStore
}

func (s *script) run(d *datadriven.TestData) string {
	name := ""
	if len(d.CmdArgs) > 0 {
		name = d.CmdArgs[0].Key
	}
	switch d.Cmd {
	case "memory":
		return s.memory(name, d.Input)
	case "merge":
		return s.merge(d)
	case "dump":
		return dump(s.sealed[name])
	case "values":
		return s.values(s.reader(name), d)
	case "flip":
		return s.flip(s.sealed[name], d)
	case "tail":
		return s.tail(s.reader(name), d)
	}
	d.Fatalf(s.t, "unknown command")
	return ""
}

// memory adds documents to a memory segment.
func (s *script) memory(name, lines string) string {
	mem := NewMemory()
	for line := range strings.Lines(lines) {
		mem.Add(s.document(strings.Fields(line)))
	}
	s.memories[name] = mem
	var out strings.Builder
	for _, f := range mem.View().Fields() {
		fmt.Fprintf(&out, "%+v\n", f)
	}
	return out.String()
}

func (s *script) document(words []string) Document {
	d := Document{ID: words[0]}
	for _, w := range words[1:] {
		key, value, _ := strings.Cut(w, "=")
		switch key {
		case "stored":
			d.stored = []byte(value)
		case "rank":
			d.rank = uint16(s.number(value))
		default:
			if strings.HasPrefix(key, "@") {
				for text := range strings.SplitSeq(value, ",") {
					d.values = append(d.values, fieldValue{key[1:], valueIn(text)})
				}
				continue
			}
			f := FieldTerms{Name: strings.TrimPrefix(key, "#"), Norms: !strings.HasPrefix(key, "#")}
			for term := range strings.SplitSeq(value, ",") {
				term, times, _ := strings.Cut(term, "*")
				tf := uint32(1)
				if times != "" {
					tf = uint32(s.number(times))
				}
				f.Terms = append(f.Terms, TermFreq{[]byte(term), tf})
				f.Length += tf
			}
			d.Fields = append(d.Fields, f)
		}
	}
	return d
}

// valueIn returns the value that a text stands for: a number, or a keyword.
func valueIn(text string) columns.Value {
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return columns.OfInt(i)
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		return columns.OfFloat(f)
	}
	return columns.OfString(text)
}

func (s *script) number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

func (s *script) reader(name string) Reader {
	if mem := s.memories[name]; mem != nil {
		return mem.View()
	}
	d, err := Open(s.sealed[name])
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

func (s *script) merge(d *datadriven.TestData) string {
	var opts MergeOptions
	var inputs []Input
	into := "sealed"
	place := make(map[string]int)
	for _, arg := range d.CmdArgs {
		switch arg.Key {
		case "into":
			into = arg.Vals[0]
		case "alpha":
			alpha, err := strconv.ParseFloat(arg.Vals[0], 64)
			if err != nil {
				s.t.Fatal(err)
			}
			opts.Order = Order{Kind: ByGlobalScore, Alpha: alpha, BM25: blockmax.DefaultBM25}
		case "delete":
			for _, v := range arg.Vals {
				name, doc, _ := strings.Cut(v, ":")
				in := &inputs[place[name]]
				if in.Deleted == nil {
					in.Deleted = roaring.New()
				}
				in.Deleted.Add(uint32(s.number(doc)))
			}
		default:
			place[arg.Key] = len(inputs)
			inputs = append(inputs, Input{Reader: s.reader(arg.Key)})
		}
	}
	store := newMapStore(s.t)
	res, err := Merge(context.Background(), store, inputs, opts)
	if err != nil {
		return err.Error() + "\n"
	}
	s.sealed[into] = store
	var out strings.Builder
	for i, m := range res.Maps {
		fmt.Fprintf(&out, "map of input %d:", i)
		for _, doc := range m {
			if doc == NoDoc {
				out.WriteString(" -")
			} else {
				fmt.Fprintf(&out, " %d", doc)
			}
		}
		out.WriteString("\n")
	}
	return out.String()
}

// dump prints every key, in words, and its value.
func dump(store *mapStore) string {
	store.sort()
	var out strings.Builder
	for _, key := range store.keys {
		fmt.Fprintf(&out, "%-14x %-36s %x\n", key, KeyString([]byte(key)), store.values[key])
	}
	return out.String()
}

func (s *script) values(r Reader, d *datadriven.TestData) string {
	var field string
	d.ScanArgs(s.t, "field", &field)
	c, err := r.Column(field)
	if err != nil {
		return err.Error() + "\n"
	}
	if c == nil {
		return "none\n"
	}
	out := fmt.Sprintf("kind %v\n", c.Kind())
	for doc := range r.Docs() {
		keys, err := c.Append(nil, doc)
		if err != nil {
			return err.Error() + "\n"
		}
		for i, k := range keys {
			v, err := c.Value(k)
			if err != nil {
				return err.Error() + "\n"
			}
			if i == 0 {
				out += fmt.Sprintf("document %d:", doc)
			}
			out += fmt.Sprintf(" %v", v.Any())
		}
		if len(keys) > 0 {
			out += "\n"
		}
	}
	return out
}

func (s *script) flip(store *mapStore, d *datadriven.TestData) string {
	var key string
	var bit int
	d.ScanArgs(s.t, "key", &key)
	d.ScanArgs(s.t, "bit", &bit)
	raw, err := hex.DecodeString(key)
	if err != nil {
		s.t.Fatal(err)
	}
	value := store.values[string(raw)]
	value[bit/8] ^= 1 << (bit % 8)
	var out strings.Builder
	Check(context.Background(), store, func(err error) { fmt.Fprintln(&out, err) })
	value[bit/8] ^= 1 << (bit % 8)
	return out.String()
}

func (s *script) tail(r Reader, d *datadriven.TestData) string {
	var field string
	var weight, rankWeight int
	d.ScanArgs(s.t, "field", &field)
	d.ScanArgs(s.t, "weight", &weight)
	d.ScanArgs(s.t, "rank", &rankWeight)
	tiles, err := r.Tiles(field)
	if err != nil {
		s.t.Fatal(err)
	}
	ranks, err := r.RankTiles()
	if err != nil {
		s.t.Fatal(err)
	}
	f, _ := r.Field(field)
	table := blockmax.NewTable(blockmax.DefaultBM25, float64(f.Tokens)/math.Max(1, float64(f.Docs)))
	out := ""
	for _, t := range tiles {
		out += fmt.Sprintf("tile %d: best %v\n", t.number, t.best)
	}
	return out + fmt.Sprintf("tail %v\n", Tail(r.Docs(), ranks, uint32(rankWeight), []TailField{{tiles, table, uint32(weight)}}))
}

// TestPackageComment compares the example of the package comment with the format.
func TestPackageComment(t *testing.T) {
	s := &script{t: t, memories: make(map[string]*Memory), sealed: make(map[string]*mapStore)}
	s.memory("m", "a stored=x body=go*2\nb body=go\n")
	_, _, store := merge(t, []Input{{Reader: s.memories["m"].View()}}, MergeOptions{})
	comment, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(strings.ReplaceAll(string(comment), "//", "")), " ")
	for key, value := range store.values {
		want := fmt.Sprintf("%x %x", key, value)
		if !strings.Contains(text, want) {
			t.Errorf("the package comment lacks %q (%s)", want, KeyString([]byte(key)))
		}
	}
}
