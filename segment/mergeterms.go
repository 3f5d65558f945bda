package segment

import (
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/postings"
)

// writeTerms writes the terms and lists of all fields.
func (m *merger) writeTerms() error {
	best := newFieldBest(m.docs, m.opts.Workers)
	encoders := make([]*termEncoder, m.opts.Workers)
	names := m.fieldNames()
	for _, name := range names {
		if m.agreedPairs(name) != "" {
			names = append(names, PairField(name))
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if len(m.fields) == maxFields {
			return fmt.Errorf("segment: field %q is one more than the %d that a segment may have", name, maxFields)
		}
		having := m.having(name)
		words := FieldOfPairs(name)
		norms, err := m.norms(words, m.having(words))
		if err != nil {
			return err
		}
		best.begin(having)
		f := &fieldMerger{merger: m, info: FieldInfo{Name: name, Norms: norms.kept(), Positions: norms.kept() && m.havePositions(name)}, norms: norms, best: best, encoders: encoders, pace: pace{cores: m.opts.Cores}}
		if err := f.writeTerms(); err != nil {
			return err
		}
		if f.info.Terms == 0 {
			continue // all its documents are deleted, so the field disappears
		}
		if f.info.Positions && !IsPairField(name) {
			f.info.Pairs = m.agreedPairs(name)
		}
		m.endField(f.info, &f.norms, best.end)
	}
	return nil
}

// A fieldMerger merges the terms of one field. This goroutine walks the inputs' terms in step,
// workers merge the lists of a batch of terms each, and this goroutine writes them.
type fieldMerger struct {
	*merger
	info     FieldInfo
	norms    Norms      // of the new documents
	best     *fieldBest // highest frequency of each new document; shared by the workers
	encoders []*termEncoder
	pace     pace
}

// writeTerms writes the terms of the field and their lists.
func (f *fieldMerger) writeTerms() error {
	w, err := f.walkTerms(f.info.Name)
	if err != nil {
		return err
	}
	defer w.close()
	w.readAhead()
	produce := func(worker int, b *termBatch) (*mergedTerms, error) {
		if f.encoders[worker] == nil {
			f.encoders[worker] = &termEncoder{merger: f.merger, worker: worker, writer: postings.Writer{Codec: f.opts.Codec}, pace: pace{cores: f.opts.Cores}}
		}
		f.encoders[worker].keepPositions(f.info.Positions)
		return f.encoders[worker].encode(f, b)
	}
	return inOrder(f.ctx, f.opts.Workers, f.opts.Cores, w.batch, produce, func(b *termBatch, made *mergedTerms) error {
		f.info.Postings += made.postings
		f.blocks += made.blocks
		f.taken += made.taken
		f.info.Tokens += made.tokens
		f.info.Terms += uint64(len(made.terms))
		for _, t := range made.terms {
			if err := f.writeList(uint32(len(f.fields)), t.term, t.list); err != nil {
				return atTerm(err, f.info.Name, t.term)
			}
			f.pace.add(paceTerm)
		}
		w.recycle(b)
		return nil
	})
}

// mergedTerms are the terms of a batch that still have a document.
type mergedTerms struct {
	terms            []encodedTerm
	postings, tokens uint64
	blocks, taken    uint64 // as in Result
}

// A termEncoder merges lists. It is for one goroutine.
type termEncoder struct {
	*merger
	worker  int
	writer  postings.Writer
	scan    postings.Scan
	shuffle shuffle // of one term, when documents change their order
	pace    pace

	docs, tfs [postings.BlockSize]uint32 // in their new order
	codes     [postings.BlockSize]uint8

	positions bool          // of the field
	deltas    []uint32      // of some postings: see postings.Writer.AddPositions
	pages     []*pageReader // of the inputs
}

// keepPositions sets whether the next lists have positions.
func (e *termEncoder) keepPositions(keep bool) {
	e.positions, e.writer.Positions, e.scan.Positions, e.shuffle.placed = keep, keep, keep, keep
}

// encode merges the lists of a batch.
func (e *termEncoder) encode(f *fieldMerger, b *termBatch) (*mergedTerms, error) {
	made := &b.made
	made.terms = slices.Grow(made.terms, len(b.ends))
	before := e.writer.Taken()
	first := 0
	for i, end := range b.ends {
		term := b.term(i)
		if err := e.merge(f, made, term, b.lists[first:end]); err != nil {
			return nil, atTerm(err, f.info.Name, term)
		}
		e.pace.add(paceTerm)
		if n := e.writer.Len(); n > 0 {
			made.postings += uint64(n)
			made.blocks += uint64(n / postings.BlockSize)
			made.terms = append(made.terms, encodedTerm{term, e.writer.Finish()})
		}
		first = end
	}
	made.taken = uint64(e.writer.Taken() - before)
	return made, nil
}

// merge puts the postings of one term into the writer.
func (e *termEncoder) merge(f *fieldMerger, made *mergedTerms, term []byte, lists []inputList) error {
	e.shuffle.reset(e.merger.docs)
	e.deltas = e.deltas[:0]
	for _, l := range lists {
		err := e.open(l, f.info.Name, term)
		switch {
		case err != nil:
		case e.order.Kind == Arrival:
			err = e.append(f, made, l.input)
		default:
			err = e.shuffleList(l.input)
		}
		if err != nil {
			return err
		}
	}
	if e.order.Kind != Arrival {
		e.addShuffled(f, made)
	}
	return nil
}

// addShuffled adds the postings after they were put in their new order.
func (e *termEncoder) addShuffled(f *fieldMerger, made *mergedTerms) {
	n := 0
	var deltas []uint32 // of the postings in e.docs
	flush := func() {
		e.count(f, made, e.docs[:n], e.tfs[:n])
		e.add(f, e.docs[:n], e.tfs[:n], deltas)
		n, deltas = 0, deltas[:0]
	}
	e.shuffle.each(func(doc, tf, at uint32) {
		if n == len(e.docs) {
			flush()
		}
		e.docs[n], e.tfs[n] = doc, tf
		n++
		if e.positions {
			deltas = append(deltas, e.deltas[at:at+tf]...)
		}
	})
	flush()
}

// shuffleList passes the list at which the scan begins to the shuffle, and its positions to e.deltas.
func (e *termEncoder) shuffleList(input int) error {
	numbers, s := e.maps[input], &e.scan
	for s.Next() {
		if err := e.ctx.Err(); err != nil {
			return err
		}
		at := uint32(len(e.deltas))
		if e.positions {
			deltas, err := s.Deltas()
			if err != nil {
				return err
			}
			if e.deltas = append(e.deltas, deltas...); uint64(len(e.deltas)) > math.MaxUint32 {
				return fmt.Errorf("segment: a term with %d positions, more than a merge can put in order", len(e.deltas))
			}
		}
		for i, old := range s.Docs[:s.N] {
			if doc := numbers[old]; doc != NoDoc {
				e.shuffle.add(doc, s.TFs[i], at)
			}
			at += s.TFs[i]
		}
	}
	return s.Err()
}

// open positions the scan before a list.
func (e *termEncoder) open(l inputList, field string, term []byte) error {
	switch {
	case l.list != nil:
		e.scan.Reset(l.list)
		return nil
	case l.run:
		e.scan.ResetRun(l.short, l.places)
		return nil
	}
	in := e.inputs[l.input].Reader
	last, err := e.scan.ResetShort(l.short, e.pageReader(l.input))
	if err == nil && last >= in.Docs() {
		err = corrupt.New(-1, "document %d in a segment of %d", last, in.Docs())
	}
	if err != nil {
		if _, named := in.List(field, term); named != nil { // adds the place
			return named
		}
	}
	return err
}

// pageReader reads the positions of short lists of an input.
func (e *termEncoder) pageReader(input int) postings.ShortPositionLoader {
	d, ok := e.inputs[input].Reader.(*Disk)
	if !ok {
		return nil
	}
	if e.pages == nil {
		e.pages = make([]*pageReader, len(e.inputs))
	}
	if e.pages[input] == nil {
		e.pages[input] = &pageReader{pageLoader: pageLoader{d}}
	}
	return e.pages[input]
}

// append adds the postings of live documents from the list at which the scan begins, block by
// block. When all documents of a block are live and so keep their distances, the writer may copy
// the block.
func (e *termEncoder) append(f *fieldMerger, made *mergedTerms, input int) error {
	numbers, s := e.maps[input], &e.scan
	deleted := e.inputs[input].Deleted
	all := deleted == nil || deleted.IsEmpty()
	for s.Next() {
		if err := e.ctx.Err(); err != nil {
			return err
		}
		e.pace.add(s.N)
		docs, tfs := s.Docs[:s.N], s.TFs[:s.N]
		if shift, ok := shiftOf(numbers, all, docs[0], docs[s.N-1]); ok {
			s.Shift(shift)
			e.count(f, made, docs, tfs)
			if !e.writer.Take(s) {
				deltas, err := e.allDeltas()
				if err != nil {
					return err
				}
				e.add(f, docs, tfs, deltas)
			}
			continue
		}
		deltas, err := e.allDeltas()
		if err != nil {
			return err
		}
		live, at, kept := 0, 0, 0
		for i, old := range docs {
			tf := tfs[i]
			if doc := numbers[old]; doc != NoDoc {
				docs[live], tfs[live] = doc, tf
				live++
				if e.positions {
					kept += copy(deltas[kept:], deltas[at:at+int(tf)])
				}
			}
			at += int(tf)
		}
		e.count(f, made, docs[:live], tfs[:live])
		e.add(f, docs[:live], tfs[:live], deltas[:kept])
	}
	return s.Err()
}

// allDeltas returns the positions of the current block of the scan, if the field has positions.
func (e *termEncoder) allDeltas() ([]uint32, error) {
	if !e.positions {
		return nil, nil
	}
	return e.scan.Deltas()
}

// shiftOf returns the distance by which documents first to last move, if it is the same for all. It
// is if none of them is deleted, for example when all documents of the input stay. (In that case it
// reads no cache line of numbers.)
func shiftOf(numbers []uint32, all bool, first, last uint32) (shift uint32, ok bool) {
	if all {
		return numbers[0], true
	}
	begin, end := numbers[first], numbers[last]
	return begin - first, begin != NoDoc && end != NoDoc && end-begin == last-first
}

// count adds postings to the field's statistics, except for their number.
func (e *termEncoder) count(f *fieldMerger, made *mergedTerms, docs, tfs []uint32) {
	bests := f.best
	for i, doc := range docs {
		tf := tfs[i]
		made.tokens += uint64(tf)
		best := &bests.best[doc]
		for old := atomic.LoadUint32(best); old < tf; old = atomic.LoadUint32(best) {
			if !atomic.CompareAndSwapUint32(best, old, tf) { // other workers have other terms of the same document
				continue
			}
			if old == 0 && bests.sparse {
				bests.touched[e.worker] = append(bests.touched[e.worker], doc)
			}
			break
		}
	}
}

// add adds postings, at most a block, to the writer.
func (e *termEncoder) add(f *fieldMerger, docs, tfs, deltas []uint32) {
	f.norms.fill(e.codes[:], docs)
	if e.positions {
		e.writer.AddPositions(docs, tfs, e.codes[:len(docs)], deltas)
		return
	}
	e.writer.AddAll(docs, tfs, e.codes[:len(docs)])
}

// writeList writes a term of a field and its list.
func (m *merger) writeList(field uint32, term []byte, enc postings.Encoded) error {
	m.key = appendTermKey(m.key[:0], Version, field, term)
	if len(enc.Directory) == 0 {
		if len(enc.Positions) > 0 {
			enc.Entry = postings.PointTo(enc.Entry, m.pages.add(enc.Positions))
		}
		return m.sink.Set(m.key, enc.Entry)
	}
	list := m.lists
	m.lists++
	if err := m.sink.Set(m.key, appendList(enc.Entry, list)); err != nil {
		return err
	}
	for i, part := range enc.Directory {
		if err := m.sink.Set(listKey(list, uint32(i)), part); err != nil {
			return err
		}
	}
	for i, chunk := range enc.Chunks {
		if err := m.sink.Set(listKey(list, chunkPart|uint32(i)), chunk); err != nil {
			return err
		}
	}
	for i, part := range enc.PositionDirectory {
		if err := m.sink.Set(positionKey(list, uint32(i)), part); err != nil {
			return err
		}
	}
	for i, chunk := range enc.PositionChunks {
		if err := m.sink.Set(positionKey(list, chunkPart|uint32(i)), chunk); err != nil {
			return err
		}
	}
	return nil
}
