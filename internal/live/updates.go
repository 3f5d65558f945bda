package live

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/segment"
)

// An update gives a document values in some fields instead of those it has in their columns. Segments never
// change, so updates lie beside them, as deletions do: an immutable set for each segment, which a batch
// replaces by another one and every view keeps.
//
// The updates of a field in a segment are a patch, and a log of what came since. A batch appends to the log,
// which takes microseconds whatever it updates. Readers pay for encoding: who asks a view for a column first
// gets the column of the segment with the tiles replaced that updates touch (columns.Replace), and the next
// view continues from there.
//
// Each change of the manifest folds logs into patches and stores what is new (layers.go), for each
// field of each segment that has new updates, atomically with the rest. Until then the log of the index has
// them. As it is with deletions, a value may hold updates that came after the last record that the manifest
// covers; replaying them sets the same values again.
//
// A seal or a merge writes the values of its inputs' updates into the new columns and the new stored
// documents. Those that arrive meanwhile become updates of the new segment, under the new numbers of its
// documents (lateUpdates). So a compacted index has no updates.

// updates are what documents of a segment have got since it was made. A nil *updates is empty.
type updates struct {
	fields map[string]*fieldUpdates
	bytes  int64 // of the logs
}

// fieldUpdates are the updates of one field of a segment: immutable, but for what it has made.
type fieldUpdates struct {
	history *updateHistory
	docs    uint32 // of columns of patches
	patch   *columns.Patch
	log     updateLog // since the patch; later ones of a document replace earlier ones
	number  uint64    // of all updates so far, those of the patch included
	layers  []layer   // of the patch, as it is stored

	// While the segment is merged: what came since the merge began is late, and log[unmerged:].
	late     *columns.Patch
	unmerged int

	mu   sync.Mutex
	made [3]madeColumn
}

// An updateLog is a list of documents with values. It is append-only: a copy is a view that what is added
// later does not change.
type updateLog struct {
	docs   []uint32
	ends   []uint32 // for each, the end of its values
	values []columns.Value
}

// A madeColumn is a column as of a number of updates.
type madeColumn struct {
	ok     bool            // it was made
	number uint64          // of updates
	base   *columns.Column // that was updated
	docs   uint32          // of the column
	column *columns.Column // nil without values
}

// What is made of updates.
const (
	madeWhole  = iota // the column of the segment, with updates
	madeValues        // the values of updated documents alone
	madeDocs          // the updated documents
)

// An updateHistory has what was made last of the updates of a field of a segment, from which more is made.
type updateHistory struct {
	mu    sync.Mutex
	last  [3]madeColumn
	bytes atomic.Int64 // memory of these
}

// field returns the updates of a field, or nil.
func (u *updates) field(name string) *fieldUpdates {
	if u == nil {
		return nil
	}
	return u.fields[name]
}

// names returns the fields that have updates.
func (u *updates) names() []string {
	if u == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(u.fields))
}

// logBytes is the memory of updates that no patch has.
func (u *updates) logBytes() int64 {
	if u == nil {
		return 0
	}
	return u.bytes
}

// heldBytes is the memory of everything else.
func (u *updates) heldBytes() (n int64) {
	if u == nil {
		return 0
	}
	for _, f := range u.fields {
		n += f.history.bytes.Load() + f.layerBytes()
	}
	return n
}

// clone returns a copy to which one goroutine may add.
func (u *updates) clone() *updates {
	if u == nil {
		return &updates{fields: map[string]*fieldUpdates{}}
	}
	return &updates{fields: maps.Clone(u.fields), bytes: u.bytes}
}

// with returns the updates with another set for a field, nil for none.
func (u *updates) with(field string, f *fieldUpdates) *updates {
	next := u.clone()
	if f == nil {
		delete(next.fields, field)
	} else {
		next.fields[field] = f
	}
	next.bytes = 0
	for _, f := range next.fields {
		next.bytes += f.log.bytes()
	}
	if len(next.fields) == 0 {
		return nil
	}
	return next
}

// add appends to a clone of the published updates of a segment, which no view has. docs is the number of
// documents of the segment, or more.
func (u *updates) add(published *updates, docs, doc uint32, changes []document.FieldUpdate) {
	for _, c := range changes {
		f := u.fields[c.Field]
		switch {
		case f == nil:
			f = &fieldUpdates{history: new(updateHistory), docs: docs}
		case f == published.field(c.Field):
			f = f.clone()
		}
		f.log.add(doc, c.Values)
		f.number++
		u.fields[c.Field] = f
		u.bytes += entryBytes + int64(len(c.Values))*valueBytes
		for i := range c.Values {
			u.bytes += int64(len(c.Values[i].Term))
		}
	}
}

// clone returns the same updates, without what was made of them.
func (f *fieldUpdates) clone() *fieldUpdates {
	return &fieldUpdates{history: f.history, docs: f.docs, patch: f.patch, log: f.log, number: f.number, layers: f.layers, late: f.late, unmerged: f.unmerged}
}

const (
	entryBytes = 8
	valueBytes = int64(unsafe.Sizeof(columns.Value{}))
)

// newUpdateLog returns an empty log with room for entries and values.
func newUpdateLog(entries, values int) updateLog {
	return updateLog{make([]uint32, 0, entries), make([]uint32, 0, entries), make([]columns.Value, 0, values)}
}

func (l *updateLog) add(doc uint32, values []columns.Value) {
	l.docs, l.values = append(l.docs, doc), append(l.values, values...)
	l.ends = append(l.ends, uint32(len(l.values)))
}

func (l *updateLog) len() int { return len(l.docs) }

// of returns the values of an entry.
func (l *updateLog) of(i int) []columns.Value {
	from := uint32(0)
	if i > 0 {
		from = l.ends[i-1]
	}
	return l.values[from:l.ends[i]]
}

// between returns a log of its own with the entries from i to below j.
func (l *updateLog) between(i, j int) updateLog {
	part := newUpdateLog(j-i, 0)
	for ; i < j; i++ {
		part.add(l.docs[i], l.of(i))
	}
	return part
}

// bytes is about the memory of the log.
func (l *updateLog) bytes() int64 {
	n := int64(len(l.docs))*entryBytes + int64(len(l.values))*valueBytes
	for i := range l.values {
		n += int64(len(l.values[i].Term))
	}
	return n
}

// patchOf returns the last values of each document in the entries from number from on, or nil without any.
func (l *updateLog) patchOf(docs uint32, from int) (*columns.Patch, error) {
	if from == l.len() {
		return nil, nil
	}
	order := make([]uint64, 0, l.len()-from) // documents, with their places in the log
	for i := from; i < l.len(); i++ {
		order = append(order, uint64(l.docs[i])<<32|uint64(i))
	}
	slices.Sort(order)
	last := newUpdateLog(len(order), len(l.values))
	for i, at := range order {
		if i+1 < len(order) && order[i+1]>>32 == at>>32 {
			continue
		}
		last.add(uint32(at>>32), l.of(int(uint32(at))))
	}
	return last.patch(docs)
}

// patch returns the patch of a log whose documents ascend, each once.
func (l *updateLog) patch(docs uint32) (*columns.Patch, error) {
	all, ends := make([]columns.Value, l.len()), make([]uint32, l.len())
	for i := range all {
		all[i], ends[i] = columns.OfBool(true), uint32(i+1)
	}
	p := new(columns.Patch)
	var err error
	if p.Docs, err = columns.FromValues(docs, l.docs, ends, all); err == nil {
		p.Values, err = columns.FromValues(docs, l.docs, l.ends, l.values)
	}
	return p, err
}

// column returns the column of the segment with the updates, or nil if no document is left with a value.
// base is that of the segment, or nil.
func (f *fieldUpdates) column(base *columns.Column, docs uint32) (*columns.Column, error) {
	return f.make(madeWhole, base, docs)
}

// values returns the values of the documents that were updated, or nil.
func (f *fieldUpdates) values() (*columns.Column, error) { return f.make(madeValues, nil, f.docs) }

// updated returns the documents that were updated: they have a value.
func (f *fieldUpdates) updated() (*columns.Column, error) { return f.make(madeDocs, nil, f.docs) }

// folded returns all updates as one patch, and those of the log, nil without any.
func (f *fieldUpdates) folded() (all, ofLog *columns.Patch, err error) {
	if f.log.len() == 0 {
		return f.patch, nil, nil
	}
	made, from := (*columns.Patch)(nil), -1 // both columns mostly continue from the same entry of the log
	since := func(i int) (p *columns.Patch, err error) {
		if i != from {
			made, err = f.log.patchOf(f.docs, i)
			from = i
		}
		return made, err
	}
	all = new(columns.Patch)
	if all.Docs, err = f.makeWith(madeDocs, nil, f.docs, since); err == nil {
		all.Values, err = f.makeWith(madeValues, nil, f.docs, since)
	}
	if err == nil {
		ofLog, err = since(0)
	}
	return all, ofLog, err
}

// make returns one of the columns that are made of updates. It continues from what was made last.
func (f *fieldUpdates) make(what int, base *columns.Column, docs uint32) (*columns.Column, error) {
	return f.makeWith(what, base, docs, func(from int) (*columns.Patch, error) { return f.log.patchOf(f.docs, from) })
}

// makeWith is make with a function that returns the patch of the log from an entry on.
func (f *fieldUpdates) makeWith(what int, base *columns.Column, docs uint32, since func(from int) (*columns.Patch, error)) (*columns.Column, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if m := f.made[what]; m.ok && m.base == base && m.docs == docs {
		return m.column, nil
	}
	c, from := base, 0
	last := f.history.of(what)
	behind := f.number - last.number // by how much, if it is not ahead
	switch {
	case last.ok && last.base == base && last.docs == docs && last.number <= f.number && behind <= uint64(f.log.len()):
		c, from = last.column, f.log.len()-int(behind)
	case f.patch != nil:
		var err error
		if c, err = replace(what, c, docs, *f.patch); err != nil {
			return nil, err
		}
	}
	p, err := since(from)
	if err == nil && p != nil {
		c, err = replace(what, c, docs, *p)
	}
	if err != nil {
		return nil, err
	}
	f.made[what] = madeColumn{true, f.number, base, docs, c}
	f.history.keep(what, f.made[what])
	return c, nil
}

// replace applies a patch to a column.
func replace(what int, c *columns.Column, docs uint32, p columns.Patch) (*columns.Column, error) {
	if what == madeDocs {
		p.Values = p.Docs
	}
	return columns.Replace(c, docs, p)
}

func (h *updateHistory) of(what int) madeColumn {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last[what]
}

// keep notes what was made, unless something newer was.
func (h *updateHistory) keep(what int, m madeColumn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if last := h.last[what]; last.ok && last.number > m.number {
		return
	}
	h.last[what] = m
	n := int64(0)
	for what, m := range h.last {
		if m.column == nil {
			continue
		}
		parts, own := m.column.Bytes()
		if n += own; what != madeWhole { // its parts are those of the segment
			n += parts
		}
	}
	h.bytes.Store(n)
}

// sinceMerge returns the updates since a merge of the segment began, as one patch, or nil.
func (f *fieldUpdates) sinceMerge() (*columns.Patch, error) {
	p, err := f.log.patchOf(f.docs, f.unmerged)
	switch {
	case err != nil || p == nil:
		return f.late, err
	case f.late == nil:
		return p, nil
	}
	return combined(f.docs, f.late, p)
}

// combined returns a patch with the documents of two, and the values of the second where both have some.
func combined(docs uint32, a, b *columns.Patch) (sum *columns.Patch, err error) {
	sum = new(columns.Patch)
	if sum.Docs, err = replace(madeDocs, a.Docs, docs, *b); err == nil {
		sum.Values, err = replace(madeValues, a.Values, docs, *b)
	}
	return sum, err
}

// after returns how many entries of the log are among the first number updates.
func (f *fieldUpdates) after(number uint64) int { return f.log.len() - int(f.number-number) }

// withFold returns the updates after a fold of them was stored.
func (f *fieldUpdates) withFold(stored *fold) *fieldUpdates {
	n := f.after(stored.of.number)
	next := &fieldUpdates{history: f.history, docs: f.docs, patch: stored.patch, number: f.number, layers: stored.layers}
	next.log = f.log.between(n, f.log.len())
	if f.unmerged >= n { // a merge has begun since the fold was made
		next.late, next.unmerged = f.late, f.unmerged-n
	} else {
		next.late = stored.late
	}
	return next
}

// beginMerge notes that a merge, or a seal, begins, and returns the updates that it has. The caller holds
// Index.mu.
func (s *liveSegment) beginMerge() *updates {
	s.merging = true
	if s.updates == nil {
		return nil
	}
	next := s.updates.clone()
	for name, f := range s.updates.fields {
		f = f.clone()
		f.late, f.unmerged = nil, f.log.len()
		next.fields[name] = f
	}
	s.updates = next
	return next
}

// beginMerge notes that a merge of sealed segments begins, and returns the inputs with their current updates.
func (ix *Index) beginMerge(inputs []mergeInput) []mergeInput {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	inputs = slices.Clone(inputs)
	for i := range inputs {
		inputs[i].updates = inputs[i].s.beginMerge()
	}
	return inputs
}

// endMerge notes that merges have ended.
func (ix *Index) endMerge(inputs []mergeInput) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	for _, in := range inputs {
		in.s.merging = false
	}
}

// A fold is the updates of a field, its log included, as a change stores them.
type fold struct {
	s      *liveSegment
	field  string
	of     *fieldUpdates
	patch  *columns.Patch
	since  *columns.Patch // what the log has
	layers []layer

	merging bool
	late    *columns.Patch // while the segment is merged
}

// beginFolds appends the folds, still without patches, of updates that are not stored. The caller holds
// Index.mu.
func (s *liveSegment) beginFolds(folds []*fold) []*fold {
	for _, name := range s.updates.names() {
		if f := s.updates.fields[name]; f.log.len() > 0 {
			folds = append(folds, &fold{s: s, field: name, of: f, merging: s.merging})
		}
	}
	return folds
}

// make makes the patches.
func (f *fold) make() (err error) {
	if f.patch, f.since, err = f.of.folded(); err == nil && f.merging {
		f.late, err = f.of.sinceMerge()
	}
	return f.s.at(err)
}

// lateUpdates returns, as updates of the merged segment, those that its inputs have got since the merge
// began. docs is its number of documents.
func lateUpdates(inputs []mergeInput, taken []*updates, maps [][]uint32, docs uint32) (map[string]*columns.Patch, error) {
	logs := map[string]*updateLog{}
	for i := range inputs {
		for _, name := range taken[i].names() {
			p, err := taken[i].fields[name].sinceMerge()
			if err != nil {
				return nil, err
			}
			if p == nil {
				continue
			}
			if logs[name] == nil {
				logs[name] = new(updateLog)
			}
			if err := logs[name].addPatch(p, maps[i]); err != nil {
				return nil, err
			}
		}
	}
	late := map[string]*columns.Patch{}
	for name, l := range logs {
		p, err := l.patchOf(docs, 0)
		if err != nil {
			return nil, err
		}
		if p != nil {
			late[name] = p
		}
	}
	return late, nil
}

// latest returns the updates of the merged segment: the late ones, which are stored, and in the log what the
// inputs have got since. The caller holds Index.mu.
func (c *change) latest(docs uint32) *updates {
	u := (*updates)(nil).clone()
	for name, p := range c.late {
		u.fields[name] = newFieldUpdates(docs, p, []layer{{bytes: c.lateBytes[name]}})
	}
	for i, in := range c.inputs {
		for _, name := range in.s.updates.names() {
			f, from := in.s.updates.fields[name], 0
			if before := c.updated[i].field(name); before != nil {
				from = f.after(before.number)
			}
			for ; from < f.log.len(); from++ {
				if doc := c.out.result.Maps[i][f.log.docs[from]]; doc != segment.NoDoc {
					u.add(nil, docs, doc, []document.FieldUpdate{{Field: name, Values: f.log.of(from)}})
				}
			}
		}
	}
	if len(u.fields) == 0 {
		return nil
	}
	return u
}

// newFieldUpdates returns updates of which a patch is all, which is stored in layers.
func newFieldUpdates(docs uint32, p *columns.Patch, layers []layer) *fieldUpdates {
	f := &fieldUpdates{history: new(updateHistory), docs: docs, patch: p, layers: layers}
	f.history.keep(madeDocs, madeColumn{ok: true, docs: docs, column: p.Docs})
	f.history.keep(madeValues, madeColumn{ok: true, docs: docs, column: p.Values})
	return f
}

// addPatch appends the documents of a patch under their new numbers.
func (l *updateLog) addPatch(p *columns.Patch, numbers []uint32) error {
	var set [64]uint64
	var keys []uint64
	var values []columns.Value
	for tile := range p.Docs.Tiles() {
		n, err := p.Docs.Have(tile, &set)
		if err != nil {
			return err
		}
		if n == 0 {
			continue
		}
		for at := range uint32(columns.TileDocs) {
			old := uint32(tile)*columns.TileDocs + at
			if set[at/64]>>(at%64)&1 == 0 || numbers[old] == segment.NoDoc {
				continue
			}
			keys, values = keys[:0], values[:0]
			if p.Values != nil {
				if keys, err = p.Values.Append(keys, old); err != nil {
					return err
				}
			}
			for _, key := range keys {
				v, err := p.Values.Value(key)
				if err != nil {
					return err
				}
				values = append(values, v)
			}
			l.add(numbers[old], values)
		}
	}
	return nil
}

// A segmentUpdates is the updates of an input of a merge, which implements segment.Updates.
type segmentUpdates struct {
	of     *updates
	docs   uint32
	stores func(field string) bool
}

// Columns implements segment.Updates.
func (u *segmentUpdates) Columns() []string { return u.of.names() }

// Column implements segment.Updates.
func (u *segmentUpdates) Column(field string, c *columns.Column) (*columns.Column, error) {
	f := u.of.field(field)
	if f == nil {
		return c, nil
	}
	return f.column(c, u.docs)
}

// Stored implements segment.Updates.
func (u *segmentUpdates) Stored(doc uint32, data []byte) ([]byte, error) {
	changes, err := u.of.changesOf(doc, u.stores)
	if err != nil || len(changes) == 0 {
		return data, err
	}
	return document.ReplaceFields(data, changes)
}

// changesOf returns what a document has got in the fields that wanted chooses, by ascending field.
func (u *updates) changesOf(doc uint32, wanted func(field string) bool) (changes []document.FieldUpdate, err error) {
	for _, name := range u.names() {
		if !wanted(name) {
			continue
		}
		f := u.fields[name]
		docs, err := f.updated()
		if err != nil {
			return nil, err
		}
		keys, err := docs.Append(nil, doc)
		if err != nil {
			return nil, err
		}
		if len(keys) == 0 {
			continue
		}
		change := document.FieldUpdate{Field: name}
		values, err := f.values()
		if err != nil {
			return nil, err
		}
		if values != nil {
			if keys, err = values.Append(keys[:0], doc); err != nil {
				return nil, err
			}
			for _, key := range keys {
				v, err := values.Value(key)
				if err != nil {
					return nil, err
				}
				change.Values = append(change.Values, v)
			}
		}
		changes = append(changes, change)
	}
	return changes, nil
}
