package riffle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/segment"
	"github.com/riffle-search/riffle/store"
)

// Stats are figures about an index. Sizes are in bytes.
type Stats struct {
	Docs     uint64 // documents that searches can find
	Deleted  uint64 // documents that are deleted but not merged away yet
	Segments []SegmentStats
	Fields   []FieldStats // by name

	MemoryBytes int64 // of the in-memory segment, and of one being sealed
	CacheBytes  int64 // of opened posting lists
	CacheHits   int64
	CacheMisses int64

	// Pinned is what snapshots and searches hold besides: segments that have been replaced.
	Pinned PinnedStats

	GPU *GPUStats // nil without Options.GPU

	LogRecords uint64 // operations' records that no sealed segment covers yet
	Store      store.Stats
}

// SegmentStats are figures about one segment.
type SegmentStats struct {
	Number  uint64 // 0 for a segment in memory
	Sealed  bool
	Docs    uint32 // deleted ones included
	Deleted uint64
	Bytes   int64
	Order   DocOrder

	// Format is the version of the segment's format, Writer the release of riffle that wrote it
	// (empty before format 6), and Features what it has besides, also what this release passes over.
	// A segment in memory has none of them. Compact leaves no old format.
	Format   int
	Writer   string
	Features []string
}

// FieldStats are figures about one indexed field, deleted documents included.
type FieldStats struct {
	Name     string
	Docs     uint64 // documents that have the field
	Terms    uint64 // distinct terms, added up over segments
	Postings uint64
	Tokens   uint64
	Norms    bool // lengths are kept
}

// Stats returns current figures.
func (e *Engine) Stats() (*Stats, error) {
	v, err := e.acquire()
	if err != nil {
		return nil, err
	}
	defer v.release()
	st := &Stats{Docs: v.live}
	st.CacheBytes, _ = e.lists.Bytes()
	st.CacheHits, st.CacheMisses = e.lists.Counts()
	st.GPU = e.gpuStats()
	st.Pinned = e.pinnedStats()
	fields := map[string]*FieldStats{}
	for i := range v.segs {
		s := &v.segs[i]
		line := SegmentStats{Number: s.home.number, Sealed: s.home.disk != nil, Docs: s.reader.Docs(), Deleted: s.deleted.count(), Bytes: s.home.bytes, Order: docOrderOf(s.reader.Order())}
		if !line.Sealed {
			line.Bytes = s.home.memory.Bytes()
			st.MemoryBytes += line.Bytes
		} else {
			f := s.home.disk.Format()
			line.Format, line.Writer, line.Features = f.Version, f.Writer, f.Features
		}
		st.Deleted += line.Deleted
		st.Segments = append(st.Segments, line)
		for _, f := range s.reader.Fields() {
			addField(fields, f)
		}
	}
	for _, f := range fields {
		st.Fields = append(st.Fields, *f)
	}
	slices.SortFunc(st.Fields, func(a, b FieldStats) int { return strings.Compare(a.Name, b.Name) })
	e.mu.Lock()
	st.LogRecords = e.seq - e.sealedSeq
	e.mu.Unlock()
	st.Store, err = e.store.Stats()
	return st, err
}

func addField(fields map[string]*FieldStats, f segment.FieldInfo) {
	t := fields[f.Name]
	if t == nil {
		t = &FieldStats{Name: f.Name}
		fields[f.Name] = t
	}
	t.Docs += uint64(f.Docs)
	t.Terms += f.Terms
	t.Postings += f.Postings
	t.Tokens += f.Tokens
	t.Norms = t.Norms || f.Norms
}

// Sizes says how the bytes of sealed segments divide; see segment.Sizes.
type Sizes = segment.Sizes

// Sizes reads all sealed segments and adds up their parts. It takes about as long
// as reading the index from disk.
func (e *Engine) Sizes(ctx context.Context) (Sizes, error) {
	var sum Sizes
	err := e.apart(ctx, func(ctx context.Context) (err error) {
		v := e.retain()
		defer v.unref()
		sum, err = v.sizes(ctx)
		return err
	})
	if err != nil {
		return Sizes{}, err // sum may still be written to
	}
	return sum, nil
}

func (v *view) sizes(ctx context.Context) (sum Sizes, err error) {
	for i := range v.segs {
		s := v.segs[i].home
		if s.disk == nil {
			continue
		}
		part, err := s.disk.Sizes(ctx)
		if err != nil {
			return sum, s.at(err)
		}
		sum.Add(part)
	}
	return sum, nil
}

// Schema returns the schema in force.
func (e *Engine) Schema() *Schema {
	s, _ := publicSchema(e.schema, nil)
	return s
}

// Check reads the whole index and verifies every checksum and invariant: of the
// segments, their deletions, the schema and the log. It calls report for each fault, which
// matches ErrCorrupt, and returns an error only when the check itself could not go
// on. Changes and searches go on meanwhile. report is called by the goroutine that called
// Check, with nothing locked: it may call the Engine, Close included.
func (e *Engine) Check(ctx context.Context, report func(error)) error {
	v, err := e.acquire()
	if err != nil {
		return err
	}
	ctx, cancel := e.untilClose(ctx)
	defer cancel()
	faults := make(chan error)
	var ends error
	go func() { // so that Close need not wait for report
		defer close(faults)
		defer v.release()
		ends = e.orClosed(v.check(ctx, func(fault error) {
			select {
			case faults <- fault:
			case <-ctx.Done():
			}
		}))
	}()
	for {
		select {
		case fault, ok := <-faults:
			if !ok {
				return ends
			}
			report(fault)
		case <-ctx.Done(): // a read may hang
			return e.orClosed(ctx.Err())
		}
	}
}

func (v *view) check(ctx context.Context, report func(error)) error {
	for i := range v.segs {
		s := &v.segs[i]
		if s.home.disk != nil {
			segment.Check(ctx, source{v.e.store.Segment(s.home.number)}, func(err error) { report(s.home.at(err)) })
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	if err := v.checkIDs(ctx, report); err != nil {
		return err
	}
	return v.e.checkStore(ctx, report)
}

// checkStore reads what lies in the store beside segments: schema and options,
// deletions as they were last written, the log.
func (e *Engine) checkStore(ctx context.Context, report func(error)) error {
	e.commitMu.Lock() // no seal may cut the log off meanwhile
	defer e.commitMu.Unlock()
	var errs []error
	for _, name := range []string{metaSchema, metaOptions, metaPrices} {
		_, err := e.store.Meta(name)
		errs = append(errs, err)
	}
	m := e.store.Manifest()
	for _, s := range m.Segments {
		_, err := e.store.Deletions(s.Number)
		errs = append(errs, err)
	}
	errs = append(errs, e.store.Replay(m.LogSeq+1, func(seq uint64, record []byte) error {
		if _, err := document.DecodeRecord(record); err != nil {
			report(document.AtRecord(seq, err))
		}
		return ctx.Err()
	}))
	for _, err := range errs {
		switch {
		case errors.Is(err, ErrCorrupt):
			report(err)
		case err != nil:
			return err
		}
	}
	return nil
}

// checkIDs reports ids that two live documents have, and walks every id order.
func (v *view) checkIDs(ctx context.Context, report func(error)) error {
	from, last := "", ""
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		page, err := v.nextIDs(from, walkPage)
		if errors.Is(err, ErrCorrupt) {
			report(err)
			return nil
		} else if err != nil {
			return err
		}
		for _, p := range page {
			if p.id == last {
				report(corrupt.At(corrupt.New(-1, "a second live document has id %q", p.id), fmt.Sprintf("segment %d", p.s.home.number)))
			}
			last = p.id
		}
		if len(page) < walkPage {
			return nil
		}
		from = last + "\x00"
	}
}
