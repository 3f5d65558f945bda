package live

import (
	"context"
	"errors"
	"fmt"

	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/segment"
)

// Check reads the whole index and verifies every checksum and invariant: of the segments, their
// deletions, the schema and the log. It calls report for each fault, which matches corrupt.Err. It
// returns an error only when the check itself could not continue. Changes and searches continue
// meanwhile. report runs on the goroutine that called Check, with nothing locked: it may call the
// Index, Close included.
func (ix *Index) Check(ctx context.Context, report func(error)) error {
	v, err := ix.Acquire()
	if err != nil {
		return err
	}
	ctx, cancel := ix.UntilClose(ctx)
	defer cancel()
	faults := make(chan error)
	var ends error
	go func() { // so that Close need not wait for report
		defer close(faults)
		defer v.Release()
		ends = ix.OrClosed(v.check(ctx, func(fault error) {
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
			return ix.OrClosed(ctx.Err())
		}
	}
}

func (v *View) check(ctx context.Context, report func(error)) error {
	for i := range v.segs {
		s := &v.segs[i]
		if s.home.disk != nil {
			segment.Check(ctx, source{v.ix.store.Segment(s.home.number)}, func(err error) { report(s.home.at(err)) })
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	if err := v.checkIDs(ctx, report); err != nil {
		return err
	}
	return v.ix.checkStore(ctx, report)
}

// checkStore reads the store's values other than segments: schema and options, deletions and updates
// as last written, the log.
func (ix *Index) checkStore(ctx context.Context, report func(error)) error {
	ix.commitMu.Lock() // no seal may truncate the log meanwhile
	defer ix.commitMu.Unlock()
	var errs []error
	for _, name := range []string{metaSchema, metaOptions, MetaPrices} {
		_, err := ix.store.Meta(name)
		errs = append(errs, err)
	}
	m, docs := ix.store.Manifest(), map[uint64]uint32{}
	for _, in := range ix.sealed() {
		docs[in.s.number] = in.s.disk.Docs()
	}
	for _, s := range m.Segments {
		_, err := ix.store.Deletions(s.Number)
		errs = append(errs, err)
		if n, open := docs[s.Number]; open {
			errs = append(errs, ix.checkUpdates(s.Number, n, report))
		}
	}
	errs = append(errs, ix.store.Replay(m.LogSeq+1, func(seq uint64, record []byte) error {
		if _, _, err := document.DecodeRecord(record); err != nil {
			report(document.AtRecord(seq, err))
		}
		return ctx.Err()
	}))
	for _, err := range errs {
		switch {
		case errors.Is(err, corrupt.Err):
			report(err)
		case err != nil:
			return err
		}
	}
	return nil
}

// checkPage is how many ids are read at a time.
const checkPage = 256

// checkIDs reports ids that two live documents share, and walks every id order.
func (v *View) checkIDs(ctx context.Context, report func(error)) error {
	from, last := "", ""
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		page, err := v.IDs(from, checkPage)
		if errors.Is(err, corrupt.Err) {
			report(err)
			return nil
		} else if err != nil {
			return err
		}
		for _, p := range page {
			if p.ID == last {
				report(corrupt.At(corrupt.New(-1, "a second live document has id %q", p.ID), fmt.Sprintf("segment %d", p.Segment.home.number)))
			}
			last = p.ID
		}
		if len(page) < checkPage {
			return nil
		}
		from = last + "\x00"
	}
}
