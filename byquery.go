package riffle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/riffle-search/riffle/internal/document"
)

// A ConflictPolicy says what becomes of a document that DeleteByQuery or UpdateByQuery has found, and
// that another change replaces before its turn comes.
type ConflictPolicy uint8

const (
	ConflictRetry ConflictPolicy = iota // it is changed if it still matches, as it is now
	ConflictSkip                        // it is left as it is
	ConflictAbort                       // the call ends with the *ConflictError; what it has changed stays
)

func (p ConflictPolicy) String() string {
	if names := [...]string{"retry", "skip", "abort"}; int(p) < len(names) {
		return names[p]
	}
	return fmt.Sprintf("ConflictPolicy(%d)", uint8(p))
}

// ByQueryOptions configures DeleteByQuery and UpdateByQuery. A nil *ByQueryOptions is valid.
type ByQueryOptions struct {
	// BatchDocs is how many documents are changed by one batch, 1 to MaxK. The default is 1000.
	BatchDocs int

	// DocsPerSecond bounds how many documents are read and changed in a second, on average, to leave the
	// machine to others. 0 stands for no bound.
	DocsPerSecond float64

	// Conflicts says what becomes of documents that others change meanwhile.
	Conflicts ConflictPolicy

	// Progress is called before the first batch and after each one, on the goroutine of the call.
	Progress func(ByQueryProgress)

	// Resume is the ByQueryProgress.Token of an earlier call for the same query that did not end, because
	// of an error or a crash. The new call finishes it: it changes the documents that the earlier one
	// found and did not reach. Those that anyone has changed since the earlier call began are left as they
	// are. Empty stands for a call of its own.
	Resume string

	// Now is what "now" means in the query: see SearchOptions.Now. A resumed call has that of the first.
	Now time.Time
}

// ByQueryProgress says how far a call of DeleteByQuery or UpdateByQuery has come. Counts are those of
// this call alone, if it has resumed another.
type ByQueryProgress struct {
	Total     int    // documents that match, when the call began
	Changed   int    // deleted, or put again
	Unchanged int    // left as they are by the function of UpdateByQuery
	Skipped   int    // left because others have changed them: see ConflictPolicy and Resume
	Token     string // for ByQueryOptions.Resume; the same from the first call of Progress to the end
}

// DeleteByQuery deletes the documents that match a query now, in batches of their own. Documents that are
// put while it runs stay. It returns how far it has come, also with an error.
//
// Batches are durable one after the other, and searches see each as a whole. When the call ends early,
// by its context, an error or a crash, the deletions so far remain, and ByQueryOptions.Resume finishes
// it. Documents that others change meanwhile: see ByQueryOptions.Conflicts.
//
// The space of deleted documents comes back with merges, as after Delete.
func (e *Engine) DeleteByQuery(ctx context.Context, q Query, o *ByQueryOptions) (*ByQueryProgress, error) {
	j := &byQuery{e: e, name: "DeleteByQuery"}
	return j.call(ctx, q, o)
}

// UpdateByQuery changes the documents that match a query now. It calls change with each of them, one at
// a time, in the order of the index. The returned fields replace those of the document with the same
// names, and the others stay; nil is no value any more. Names are flat, as in Document.Fields
// ("author.name"); "author" stands for all fields below it, too. Without any fields the document stays as
// it is. An error of change ends the call, which returns it.
//
// Batches, progress and early ends are as with DeleteByQuery. Each document is changed at most once: a
// resumed call leaves those alone that have been changed.
//
// Documents are put again from their stored fields, so UpdateByQuery refuses an index whose schema has a
// field that is not stored, and names it. Single values that a struct tag excludes from storing are lost.
func (e *Engine) UpdateByQuery(ctx context.Context, q Query, change func(d Document) (fields map[string]any, err error), o *ByQueryOptions) (*ByQueryProgress, error) {
	if err := restorable("UpdateByQuery", e.Schema()); err != nil {
		return &ByQueryProgress{}, err
	}
	j := &byQuery{e: e, name: "UpdateByQuery", update: change}
	return j.call(ctx, q, o)
}

// replaceFields returns stored values with those of some fields replaced.
func replaceFields(stored document.Stored, fields map[string]any) ([]document.Value, error) {
	values, err := document.Flatten(fields)
	if err != nil {
		return nil, err
	}
	stored = slices.DeleteFunc(stored, func(v document.Value) bool {
		for name := v.Name; ; {
			if _, replaced := fields[name]; replaced {
				return true
			}
			dot := strings.LastIndexByte(name, '.')
			if dot < 0 {
				return false
			}
			name = name[:dot]
		}
	})
	values, err = document.Flatten(append(stored, values...))
	if values == nil {
		values = []document.Value{} // nil stands for no change
	}
	return values, err
}

// A byQuery is a running call.
type byQuery struct {
	e       *Engine
	name    string                                   // of the method
	update  func(d Document) (map[string]any, error) // nil to delete documents
	o       ByQueryOptions
	query   Query
	version uint64 // documents of later batches are left alone
	began   time.Time
	done    ByQueryProgress
}

const defaultByQueryDocs = 1000

// call checks the options and runs.
func (j *byQuery) call(ctx context.Context, q Query, o *ByQueryOptions) (*ByQueryProgress, error) {
	e := j.e
	if j.began = time.Now(); o != nil {
		j.o = *o
	}
	if j.o.BatchDocs == 0 {
		j.o.BatchDocs = defaultByQueryDocs
	}
	switch o := &j.o; {
	case e.opts.ReadOnly:
		return &j.done, ErrReadOnly
	case q == nil:
		return &j.done, &QueryError{Part: "Query", Err: errors.New("is nil")}
	case o.BatchDocs < 1 || o.BatchDocs > MaxK:
		return &j.done, &QueryError{Part: "ByQueryOptions.BatchDocs", Err: fmt.Errorf("must lie in 1 to %d, not %d", MaxK, o.BatchDocs)}
	case !(o.DocsPerSecond >= 0):
		return &j.done, &QueryError{Part: "ByQueryOptions.DocsPerSecond", Err: fmt.Errorf("must not be negative, as %v is", o.DocsPerSecond)}
	case o.Conflicts > ConflictAbort:
		return &j.done, &QueryError{Part: "ByQueryOptions.Conflicts", Err: fmt.Errorf("must be ConflictRetry, ConflictSkip or ConflictAbort, not %d", o.Conflicts)}
	}
	j.query = Bool{Filter: []Query{q}} // the order of the index, whatever scores are
	ctx, cancel := e.index.UntilClose(ctx)
	defer cancel()
	return &j.done, e.index.OrClosed(j.run(ctx, q))
}

func (j *byQuery) run(ctx context.Context, q Query) error {
	s, err := j.e.Snapshot()
	if err != nil {
		return err
	}
	defer s.Close()
	if err := j.begin(ctx, s, q); err != nil {
		return err
	}
	page := SearchOptions{K: j.o.BatchDocs, Versions: true, ExactTotal: true, Now: j.o.Now}
	for first := true; ; first = false {
		res, err := s.Search(ctx, j.query, &page)
		if err != nil {
			return err
		}
		if first {
			j.done.Total = res.Total
			j.tell()
		}
		if len(res.Hits) == 0 {
			return nil
		}
		if err := j.change(ctx, s, res.Hits); err != nil {
			return err
		}
		j.tell()
		if len(res.Hits) < page.K {
			return nil
		}
		page.After, page.ExactTotal = res.Hits[page.K-1].Cursor, false
		if err := j.pause(ctx); err != nil {
			return err
		}
	}
}

// begin sets the version and the token, of the snapshot or of the call that is resumed.
func (j *byQuery) begin(ctx context.Context, s *Snapshot, q Query) (err error) {
	text, err := json.Marshal(q)
	if err != nil {
		return err
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %s", j.name, text)
	const format = "1.%d.%d.%016x" // version of the token, of documents; now; what the call does
	if token := j.o.Resume; token != "" {
		var now int64
		var of uint64
		fault := errors.New("is no token of ByQueryProgress")
		if n, err := fmt.Sscanf(token, format, &j.version, &now, &of); n == 3 && err == nil && token == fmt.Sprintf(format, j.version, now, of) {
			fault = nil
			if of != h.Sum64() {
				fault = errors.New("is the token of a call for another query")
			}
		}
		if fault != nil {
			return &QueryError{Part: "ByQueryOptions.Resume", Err: fault}
		}
		j.o.Now, j.done.Token = time.Unix(0, now), token
		return nil
	}
	if j.version, err = s.Version(); err != nil {
		return err
	}
	if j.e.opts.Durability == SyncNone { // else a crash could lose batches, and later ones get their versions
		if err := j.e.Sync(ctx); err != nil {
			return err
		}
	}
	if j.o.Now.IsZero() {
		j.o.Now = j.began
	}
	j.done.Token = fmt.Sprintf(format, j.version, j.o.Now.UnixNano(), h.Sum64())
	return nil
}

func (j *byQuery) tell() {
	if j.o.Progress != nil {
		j.o.Progress(j.done)
	}
}

// pause waits until the documents so far are no more than DocsPerSecond allows.
func (j *byQuery) pause(ctx context.Context) error {
	if j.o.DocsPerSecond == 0 {
		return ctx.Err()
	}
	docs := j.done.Changed + j.done.Unchanged + j.done.Skipped
	due := j.began.Add(time.Duration(float64(docs) / j.o.DocsPerSecond * float64(time.Second)))
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// change changes the documents of a page of hits, as the snapshot has them.
func (j *byQuery) change(ctx context.Context, s *Snapshot, hits []Hit) error {
	old := hits[:0:0]
	for _, h := range hits {
		if h.Version <= j.version {
			old = append(old, h)
		}
	}
	j.done.Skipped += len(hits) - len(old)
	again, err := j.apply(ctx, s, old)
	for err == nil && len(again) > 0 {
		again, err = j.retry(ctx, again)
	}
	return err
}

// retry changes the documents with some ids that still match, as they are now.
func (j *byQuery) retry(ctx context.Context, ids []string) (again []string, err error) {
	s, err := j.e.Snapshot()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	q := Bool{Filter: []Query{j.query, IDs{ids}}}
	res, err := s.Search(ctx, q, &SearchOptions{K: len(ids), Versions: true, Now: j.o.Now})
	if err != nil {
		return nil, err
	}
	j.done.Skipped += len(ids) - len(res.Hits)
	return j.apply(ctx, s, res.Hits)
}

// apply applies the changes of some hits on the condition that they are as the snapshot has them. It
// returns the ids of those that are not, and are to be tried again.
func (j *byQuery) apply(ctx context.Context, s *Snapshot, hits []Hit) (again []string, err error) {
	b, unchanged, err := j.batch(ctx, s, hits)
	if err != nil {
		return nil, err
	}
	for b.Len() > 0 {
		err := j.e.Apply(ctx, b)
		if err == nil {
			break
		}
		conflicts := conflictsIn(err)
		if len(conflicts) == 0 || j.o.Conflicts == ConflictAbort {
			return nil, err
		}
		b.ops = slices.DeleteFunc(b.ops, func(op document.Operation) bool { return conflicts[op.ID] })
		if j.o.Conflicts == ConflictSkip {
			j.done.Skipped += len(conflicts)
			continue
		}
		for id := range conflicts {
			again = append(again, id)
		}
	}
	j.done.Changed += b.Len()
	j.done.Unchanged += unchanged
	return again, nil
}

// batch returns the changes of some hits of a snapshot, and how many of them have none.
func (j *byQuery) batch(ctx context.Context, s *Snapshot, hits []Hit) (b *Batch, unchanged int, err error) {
	v, err := s.hold()
	if err != nil {
		return nil, 0, err
	}
	v.e.index.End() // Close need not wait for the function of UpdateByQuery
	defer v.Unref()
	b = new(Batch)
	for _, h := range hits {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		op := document.Operation{ID: h.ID, Delete: true, Conditional: true, Version: h.Version}
		if j.update != nil {
			op.Delete = false
			if op.Values, err = j.updated(ctx, v, h); err != nil {
				return nil, 0, err
			}
			if op.Values == nil {
				unchanged++
				continue
			}
		}
		b.add(op)
	}
	return b, unchanged, nil
}

// updated returns the new values of a hit, or nil if it stays as it is.
func (j *byQuery) updated(ctx context.Context, v view, h Hit) ([]document.Value, error) {
	d := Document{ID: h.ID, Version: h.Version}
	stored, err := v.loadStored(ctx, &d)
	if err != nil {
		return nil, err
	}
	fields, err := j.update(d)
	if err != nil || len(fields) == 0 {
		return nil, err
	}
	values, err := replaceFields(stored, fields)
	if err != nil {
		var de *DocumentError
		if !errors.As(err, &de) {
			de = &DocumentError{Err: err}
		}
		de.ID = h.ID
		return nil, de
	}
	return values, nil
}

// loadStored loads the fields of a document, and its values with their rules, in a call of its own.
func (v view) loadStored(ctx context.Context, d *Document) (stored document.Stored, err error) {
	if err := v.e.index.Begin(); err != nil {
		return nil, err
	}
	defer v.e.index.End()
	segment, doc, err := v.Find(ctx, d.ID)
	if err != nil {
		return nil, err
	}
	s := v.SegmentAt(segment)
	if d.Fields, err = s.Fields(doc, []string{"*"}); err != nil {
		return nil, err
	}
	return s.Stored(doc)
}

// conflictsIn returns the ids of the documents of an error's ConflictErrors.
func conflictsIn(err error) map[string]bool {
	ids := map[string]bool{}
	var gather func(error)
	gather = func(err error) {
		switch err := err.(type) {
		case *ConflictError:
			ids[err.ID] = true
		case interface{ Unwrap() []error }:
			for _, one := range err.Unwrap() {
				gather(one)
			}
		}
	}
	gather(err)
	return ids
}
