package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/internal/hook"
)

// Processes write windows: everything about a document follows from its batch and from the number of the last
// batch, so that whoever opens the index knows what must be in it.
//
// Batch i puts documents i.a and i.b, each only if there is none, and a document xi, which may expire. It
// updates columns of those of batches i-1 and i-5, and deletes those of batch i-window. After every sixteenth
// batch a call by query adds 1 to a number of all documents, in several batches of its own.
const (
	window     = 40
	callPeriod = 16
	seen       = "seen"
	counted    = "count"
)

// endsWithCall reports whether a call by query comes after batch i.
func endsWithCall(i int) bool { return i%callPeriod == callPeriod-1 }

// windowDocument returns the document of a batch after a later one, and after its call.
func windowDocument(of int, half string, last int) document {
	d := document{"num": int64(of), "half": half, seen: int64(of), spot: spotOf(of)}
	if last > of {
		d[seen] = int64(of + 1)
	}
	if last >= of+5 {
		d[seen], d[spot] = int64(of+5), spotOf(of+5)
	}
	d[counted] = int64((last+1)/callPeriod - of/callPeriod)
	return d
}

// spotOf returns one of 64 places.
func spotOf(i int) riffle.Point {
	return onEarth(riffle.Point{Lat: 50 + float64(i%8)/4, Lon: 179 + float64(i/8%8)/4})
}

// windowBatch makes batch i. version is that of the first document it deletes, or 0 if it is not known.
func windowBatch(i int, version uint64) *riffle.Batch {
	b := &riffle.Batch{Position: windowPosition(i)}
	for _, half := range []string{"a", "b"} {
		d := windowDocument(i, half, i)
		d[counted] = int64(0)
		d["text"] = fmt.Sprintf("w1 w%d %s", i%10, strings.Repeat("filler ", i%50))
		b.PutIf(windowID(i, half), map[string]any(d), 0)
		if i >= 1 {
			b.Update(windowID(i-1, half), map[string]any{seen: i})
		}
		if i >= 5 {
			b.Update(windowID(i-5, half), map[string]any{seen: i, spot: spotOf(i)})
		}
		switch old := windowID(i-window, half); {
		case i < window:
		case version > 0 && half == "a":
			b.DeleteIf(old, version)
		default:
			b.Delete(old)
		}
	}
	b.Put(fmt.Sprint("x", i), map[string]any{until: []string{expired, unexpired}[i%2], "text": "x"})
	b.Delete(fmt.Sprint("x", i-window))
	return b
}

func windowID(i int, half string) string { return fmt.Sprintf("%d.%s", i, half) }

// windowPosition returns that of an index after batch i; -1 is before the first.
func windowPosition(i int) []byte {
	if i < 0 {
		return nil
	}
	return strconv.AppendInt(nil, int64(i), 10)
}

// windowState checks that an engine has the state after some batch, and returns its number; -1 is
// an empty one. undone is how many documents the call that comes after the batch has not reached.
func windowState(e *riffle.Engine) (last, undone int, err error) {
	s, err := e.Snapshot()
	if err != nil {
		return 0, 0, err
	}
	defer s.Close()
	m, others := model{}, 0
	last = -1
	for d, err := range s.Documents("") {
		if err != nil {
			return 0, 0, err
		}
		if strings.HasPrefix(d.ID, "x") {
			others++
			continue
		}
		n, ok := d.Fields["num"].(int64)
		if want := fmt.Sprintf("%d.%s", n, d.Fields["half"]); !ok || d.ID != want {
			return 0, 0, wrongf("document %q is %v", d.ID, d.Fields)
		}
		last = max(last, int(n))
		m[d.ID] = d.Fields
	}
	for i := max(0, last-window+1); i <= last; i++ {
		for _, half := range []string{"a", "b"} {
			d, want := m[windowID(i, half)], windowDocument(i, half, last)
			if endsWithCall(last) && d[counted] == want[counted].(int64)-1 {
				undone++
				want[counted] = d[counted]
			}
			for name, value := range want {
				if d[name] != value {
					return 0, 0, wrongf("document %s after batch %d: %s is %v, want %v", windowID(i, half), last, name, d[name], value)
				}
			}
		}
	}
	docs, err := s.Len()
	if want := 2 * min(window, last+1); err != nil || len(m) != want || docs != want+others {
		return 0, 0, wrongf("%d documents after batch %d, %d of them of batches, want %d: %v", docs, last, len(m), want, err)
	}
	if last >= 0 { // an empty one may have no schema
		err = windowAnswers(s, m)
	}
	return last, undone, errors.Join(err, samePosition(s, windowPosition(last)), check(e))
}

// windowAnswers compares answers from words and from columns with the documents.
func windowAnswers(s *riffle.Snapshot, m model) error {
	n, err := s.Count(background, riffle.Match{Field: "text", Text: "w1"})
	if err != nil || n != len(m) {
		return wrongf("%d matches of %d documents: %v", n, len(m), err)
	}
	some := m[slices.Min(m.ids())]
	for _, q := range []riffle.Query{
		riffle.Range{Field: seen, From: some[seen], To: some[seen].(int64) + 7},
		riffle.WithinDistance{Field: spot, Point: some[spot].(riffle.Point), Metres: 50_000},
	} {
		if n, err := s.Count(background, q); err != nil || n != len(m.matches(q)) {
			return wrongf("count of %v: %d, want %d: %v", q, n, len(m.matches(q)), err)
		}
	}
	r, err := s.Search(background, riffle.Match{Field: "text", Text: "w1"},
		&riffle.SearchOptions{K: riffle.MaxK, Sort: []riffle.SortKey{{Field: seen, Desc: true}, {ID: true}}})
	if err != nil {
		return err
	}
	want := m.ids()
	slices.SortStableFunc(want, func(a, b string) int { return compare(m[b][seen], m[a][seen]) })
	for i, h := range r.Hits {
		if len(r.Hits) != len(want) || h.ID != want[i] {
			return wrongf("the latest: %q at %d of %d, want %q", h.ID, i, len(r.Hits), want[i])
		}
	}
	return nil
}

// windowOptions configure an index of windows.
func windowOptions(rng random) *riffle.Options {
	o := &riffle.Options{AllowUnknownFields: true, Codec: riffle.Codec(rng.IntN(4)), Merge: riffle.MergeOptions{SegmentsPerTier: 2 + rng.IntN(3), Workers: 1}, SearchWorkers: 1,
		Schema: windowSchema, Expire: &riffle.Expire{Field: until, Every: 5 * time.Millisecond}}
	k := knobs(nil)
	k.Store.FS = nil
	k.MemoryBytes = 8 << (10 + rng.IntN(6))
	hook.Set(o, k)
	return o
}

var windowSchema = &riffle.Schema{Fields: map[string]riffle.Field{
	seen:  {Type: riffle.FieldNumber, NoIndex: true, Column: riffle.ColumnStored},
	spot:  {Type: riffle.FieldPlace},
	until: {Type: riffle.FieldDate},
}}

func windowSource(last int) riffle.Documents {
	return func(yield func(riffle.Document, error) bool) {
		for i := max(0, last-window+1); i <= last; i++ {
			for _, half := range []string{"a", "b"} {
				d := windowDocument(i, half, last)
				d["text"] = fmt.Sprintf("w1 w%d", i%10)
				if !yield(riffle.Document{ID: windowID(i, half), Fields: d}, nil) {
					return
				}
			}
		}
	}
}

// applyWindow applies batch i. Sometimes it first tries with a wrong version, which changes nothing.
func applyWindow(e *riffle.Engine, i int, rng random) error {
	if i < window {
		return e.Apply(background, windowBatch(i, 0))
	}
	id := windowID(i-window, "a")
	d, err := e.Document(background, id)
	if err != nil {
		return err
	}
	if rng.IntN(7) == 0 {
		var ce *riffle.ConflictError
		if err := e.Apply(background, windowBatch(i, d.Version+1)); !errors.As(err, &ce) || ce.ID != id || ce.Have != d.Version {
			return wrongf("%s has version %d; a batch for the next: %v", id, d.Version, err)
		}
	}
	return e.Apply(background, windowBatch(i, d.Version))
}

// callWindow makes the call that comes after batch i, or finishes it. The token is in a file beside the index.
func callWindow(e *riffle.Engine, dir string, i, undone int) error {
	name := dir + "-token"
	o := &riffle.ByQueryOptions{BatchDocs: 7}
	text, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if of, token, ok := strings.Cut(string(text), " "); ok && of == strconv.Itoa(i) {
		o.Resume = token
	} else if undone < 2*min(window, i+1) {
		return wrongf("the call after batch %d has left %d documents, and no token", i, undone)
	}
	o.Progress = func(p riffle.ByQueryProgress) {
		if o.Resume == "" {
			o.Resume = p.Token
			err = errors.Join(os.WriteFile(name+".new", fmt.Append(nil, i, " ", p.Token), 0o666), os.Rename(name+".new", name))
		}
	}
	done, uerr := e.UpdateByQuery(context.Background(), riffle.Match{Field: "text", Text: "w1"}, func(d riffle.Document) (map[string]any, error) {
		return map[string]any{counted: d.Fields[counted].(int64) + 1}, err
	}, o)
	if uerr == nil && done.Changed != undone {
		uerr = wrongf("the call after batch %d has changed %d documents, want %d", i, done.Changed, undone)
	}
	return uerr
}

// sweptWindow waits until the documents that have expired are gone.
func sweptWindow(dir string, rng random) error {
	e, err := riffle.Open(dir, windowOptions(rng))
	if err != nil {
		return err
	}
	left := -1
	for range patience * 3 {
		if left, err = e.Count(background, riffle.Range{Field: until, To: "2100-01-01T00:00:00Z"}); err != nil || left == 0 {
			break
		}
		time.Sleep(patienceStep)
	}
	if err == nil && left != 0 {
		err = wrongf("%d documents have expired and are left", left)
	}
	return errors.Join(err, e.Close())
}
