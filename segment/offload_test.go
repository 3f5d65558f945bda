package segment

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// A plainSorter is a Sorter with maps. It has room for the given number of bytes and fails at Sort
// number failAt, counted from 1.
type plainSorter struct {
	room, failAt, sorts int
}

func (s *plainSorter) Room() int { return s.room }

func (s *plainSorter) Sort(cells int, pieces []Piece) ([][]byte, error) {
	if s.sorts++; s.sorts == s.failAt {
		return nil, errors.New("out of order")
	}
	type inverted struct {
		list   []docTF
		places []byte
	}
	bytes := 0
	terms, placed := make([]map[string]*inverted, cells), make([]bool, cells)
	for i, p := range pieces {
		bytes += len(p.Records)
		m := terms[p.Cell]
		if m == nil {
			m = map[string]*inverted{}
			terms[p.Cell], placed[p.Cell] = m, p.Positions
		}
		if placed[p.Cell] != p.Positions {
			return nil, fmt.Errorf("piece %d of cell %d: positions %v, and otherwise %v", i, p.Cell, p.Positions, placed[p.Cell])
		}
		for records := p.Records; len(records) > 0; {
			var r runRecord
			r, records = readRecord(records, p.Positions)
			t := m[string(r.term)]
			if t == nil {
				t = &inverted{}
				m[string(r.term)] = t
			}
			t.list = append(t.list, docTF{p.Base + r.first, r.tf})
			rest := runReader{data: r.rest, doc: p.Base + r.first}
			var doc, tf [1]uint32
			for rest.read(doc[:], tf[:]) > 0 {
				t.list = append(t.list, docTF{doc[0], tf[0]})
			}
			t.places = append(t.places, r.places...)
		}
	}
	if bytes > s.room {
		return nil, fmt.Errorf("%d bytes for a room of %d", bytes, s.room)
	}
	out := make([][]byte, cells)
	for cell, m := range terms {
		var all []string
		for term := range m {
			all = append(all, term)
		}
		slices.Sort(all)
		for _, term := range all {
			out[cell] = appendRecord(out[cell], []byte(term), m[term].list)
			if placed[cell] {
				out[cell] = binary.AppendUvarint(out[cell], uint64(len(m[term].places)))
				out[cell] = append(out[cell], m[term].places...)
			}
		}
	}
	return out, nil
}

// TestOffload checks that a segment is the same, byte for byte, for any share of its partitions
// that a Sorter inverts and any number of rounds, and also when it fails.
func TestOffload(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 21))
	for _, n := range []int{1, 200, 3000} {
		m := randomModel(rng, n, "m")
		want, _, _ := bulkOf(t, m, 100, 2, 2)
		for _, share := range []float64{0, 0.3, 1} {
			for _, how := range []plainSorter{{room: 1 << 30}, {room: 5000}, {room: 700}, {room: 1 << 30, failAt: 1}, {room: 3000, failAt: 3}} {
				s := &how
				var failed error
				prepare := func(b *Bulk) { b.Offload(s, share, func(err error) { failed = err }) }
				got, res, _ := preparedBulk(t, m, 100, 2, 2, prepare)
				sameBytes(t, got, want)
				if int(res.Docs) != n || (failed != nil) != (s.sorts > 0 && s.sorts == s.failAt) && s.room > 700 {
					t.Fatalf("%d documents, %d sorts, error %v of %+v", res.Docs, s.sorts, failed, how)
				}
				if share == 1 && n == 3000 && (s.sorts == 0 || s.room == 5000 && s.sorts < 3) {
					t.Errorf("%d sorts of %+v", s.sorts, how)
				}
				d, err := Open(got)
				if err != nil {
					t.Fatal(err)
				}
				requireFields(t, m, d)
			}
		}
	}
}

// TestOffloadMixed checks a field that has positions in some chunks only: those of the first decide,
// and what a Sorter gets is all of one form.
func TestOffloadMixed(t *testing.T) {
	rng := rand.New(rand.NewPCG(22, 22))
	docs := placedDocs(rng, 600, "")
	for _, first := range []bool{false, true} {
		write := func(s Sorter) *mapStore {
			var parts *Partitions
			var b *Bulk
			for i := range 6 {
				var c Chunk
				for _, d := range docs[100*i : 100*i+100] {
					d.addTo(&c, first == (i%2 == 0))
				}
				if b == nil {
					parts = c.Sample()
					b = NewBulk(parts, 2)
					if s != nil {
						b.Offload(s, 0.7, func(err error) { t.Error(err) })
					}
				}
				c.Group(parts)
				b.Add(&c)
			}
			store := newMapStore(t)
			if _, err := b.Write(t.Context(), store, BulkOptions{Workers: 2}); err != nil {
				t.Fatal(err)
			}
			return store
		}
		want := write(nil)
		for _, room := range []int{1 << 30, 10_000} {
			sameBytes(t, write(&plainSorter{room: room}), want)
		}
		d, err := Open(want)
		if err != nil {
			t.Fatal(err)
		}
		if f, _ := d.Field("body"); f.Positions != first {
			t.Errorf("positions %v, want those of the first chunk, %v", f.Positions, first)
		}
	}
}

// TestUnpopular checks that the Sorter gets about its share, with fewer postings per term.
func TestUnpopular(t *testing.T) {
	var c Chunk
	for i := range 4000 {
		c.Begin(fmt.Sprint(i))
		c.Field("f", false)
		for j := range 4 {
			c.Add(fmt.Appendf(nil, "%c%c popular", 'a'+j, 'a'+i%20))
			c.Add(fmt.Appendf(nil, "%c%c once %d", 'm'+j, 'a'+i%20, i))
		}
		c.EndField(false, 0)
		c.End(0, nil)
	}
	p := c.Sample()
	share := func(parts []int) (weight, postings float64) {
		var allWeight, allPostings uint64
		for i := range p.n {
			allWeight, allPostings = allWeight+p.weight[i], allPostings+p.postings[i]
			if slices.Contains(parts, i) {
				weight, postings = weight+float64(p.weight[i]), postings+float64(p.postings[i])
			}
		}
		return weight / float64(allWeight), postings / float64(allPostings)
	}
	if len(p.unpopular(0)) != 0 || len(p.unpopular(1)) != p.n {
		t.Errorf("%d and %d of %d partitions", len(p.unpopular(0)), len(p.unpopular(1)), p.n)
	}
	weight, postings := share(p.unpopular(0.5))
	if cmp.Less(weight, 0.4) || weight > 0.6 || postings > 0.4 {
		t.Errorf("the unpopular half has %.2f of the work and %.2f of the postings", weight, postings)
	}
}

// TestOffloadBytes checks that records kept for a Sorter count, also before they are sorted.
func TestOffloadBytes(t *testing.T) {
	docs, _ := zipfDocuments(1000)
	m := model{}
	for _, d := range docs {
		f := modelField{norms: true, length: 180, terms: map[string]uint32{}}
		for _, tf := range d.Fields[0].Terms {
			f.terms[string(tf.Term)] = tf.TF
		}
		m = append(m, modelDoc{id: d.ID, fields: map[string]modelField{"text": f}})
	}
	var c Chunk
	for _, d := range m {
		d.addTo(&c)
	}
	parts := c.Sample()
	c.Group(parts)
	b := NewBulk(parts, 1)
	b.Offload(&plainSorter{room: 1 << 30}, 1, func(err error) { t.Error(err) })
	b.Add(&c)
	records := int64(0)
	for _, f := range c.fields {
		records += int64(len(f.runs))
	}
	if kept := b.bytes(); kept < 2*records {
		t.Errorf("a Bulk of %d bytes of records says that it takes %d", records, kept)
	}
	if _, err := b.Write(context.Background(), newMapStore(t), BulkOptions{}); err != nil {
		t.Error(err)
	}
	if sorted := b.bytes(); sorted < records/2 {
		t.Errorf("sorted, it says that it takes %d", sorted)
	}
}
