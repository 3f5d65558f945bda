package live

import (
	"context"
	"errors"
	"time"

	"github.com/riffle-search/riffle/internal/cache"
	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/segment"
	"github.com/riffle-search/riffle/store"
)

// A Probe lets tests of the packages above look into an index, hold its locks, and trigger its
// background work. No program uses it.
type Probe struct{ *Index }

// Store returns the store of the index.
func (p Probe) Store() *store.Store { return p.store }

// Fields returns the set of indexed fields.
func (p Probe) Fields() *document.Fields { return p.fields }

// Lists returns the cache of opened posting lists.
func (p Probe) Lists() *cache.Lists { return p.lists }

// ForgetLists replaces the cache of opened posting lists by an empty one.
func (p Probe) ForgetLists() { p.lists = cache.NewLists(1) }

// Disks returns the sealed segments.
func (p Probe) Disks() (disks []*segment.Disk) {
	for _, in := range p.sealed() {
		disks = append(disks, in.s.disk)
	}
	return disks
}

// SealedInView reports whether the last segment of a view is sealed.
func (p Probe) SealedInView(v *View) bool {
	return len(v.segs) > 0 && v.segs[len(v.segs)-1].home.disk != nil
}

// TryLock takes the lock of Apply and Stats for a moment, if it is free.
func (p Probe) TryLock() bool {
	if p.mu.TryLock() {
		p.mu.Unlock()
		return true
	}
	return false
}

// HoldCommits keeps seals and merges from changing the manifest until release is called.
func (p Probe) HoldCommits() (release func()) {
	p.commitMu.Lock()
	return p.commitMu.Unlock
}

// HoldLog keeps batches out of the log until release is called.
func (p Probe) HoldLog() (release func()) {
	if err := p.order.lock(context.Background()); err != nil {
		panic("BUG: " + err.Error())
	}
	return p.order.unlock
}

// Closing returns a channel that is closed when Close has interrupted the background work.
func (p Probe) Closing() <-chan struct{} { return p.background.Done() }

// UnderWay returns the number of batches in the pipeline.
func (p Probe) UnderWay() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.underWay)
}

// Locate brings a batch to the end of locate. The returned function does the rest of Apply.
func (p Probe) Locate(ctx context.Context, ops []document.Operation, position string) (finish func() error, err error) {
	b, err := p.prepare(ctx, ops, position)
	if err != nil {
		return nil, err
	}
	if err := p.locate(ctx, b); err != nil {
		return nil, err
	}
	return func() error { return errors.Join(p.log(ctx, b), p.finish(ctx, b)) }, nil
}

// Unsealed returns the number of records that no sealed segment covers.
func (p Probe) Unsealed() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seq - p.sealedSeq
}

// Sealing reports whether a seal runs, and whether memory is so full that batches wait for one.
func (p Probe) Sealing() (runs, full bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seal.done != nil, !p.hasRoom()
}

// StartSeal begins a seal if any record is unsealed.
func (p Probe) StartSeal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seq > p.sealedSeq {
		p.startSeal()
	}
}

// RetrySeal retries a failed seal, if that is due.
func (p Probe) RetrySeal() { p.retrySeal() }

// AwaitSeal waits for the running seal, if any.
func (p Probe) AwaitSeal(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seal.segment == nil {
		return nil
	}
	return p.awaitSeal(ctx)
}

// MergeNext carries out the next merge that is due.
func (p Probe) MergeNext() bool { return p.mergeNext() }

// NextMerge returns when the next failed merge is due, and how many are set aside.
func (p Probe) NextMerge() (next time.Time, aside int) {
	next = p.nextMerge()
	p.mergeMu.Lock()
	defer p.mergeMu.Unlock()
	return next, len(p.aside)
}

// MergeDue carries out the merges that are due. A merge for which fault returns an error fails with
// it.
func (p Probe) MergeDue(ctx context.Context, fault func(inputs []*segment.Disk) error) error {
	p.mergeMu.Lock()
	defer p.mergeMu.Unlock()
	for inputs := p.pickDue(p.sealed()); inputs != nil; inputs = p.pickDue(p.sealed()) {
		var disks []*segment.Disk
		for _, in := range inputs {
			disks = append(disks, in.s.disk)
		}
		err := fault(disks)
		if err == nil {
			if err := p.merge(ctx, inputs); err != nil {
				return err
			}
		}
		p.aside.note(inputs, err, p.now())
	}
	return nil
}

// MergeAround merges all sealed segments, and calls during when the new one is written, but neither in the
// manifest nor in a view.
func (p Probe) MergeAround(ctx context.Context, during func()) error {
	p.mergeMu.Lock()
	defer p.mergeMu.Unlock()
	inputs := p.beginMerge(p.sealed())
	defer p.endMerge(inputs)
	out, err := p.writeMerged(ctx, inputs, segment.Order{})
	if err != nil {
		return err
	}
	defer out.abort()
	during()
	return p.commitMerged(&change{out: out, inputs: inputs, made: func(*liveSegment) {}})
}

// Undelete restores the deleted documents of the first segment, which makes the index faulty.
func (p Probe) Undelete() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.segments[0].deleted = nil
	p.publish()
}
