package cpuexec

import "github.com/riffle-search/riffle/blockmax"

// results are the hits of a run, its counts, and the resulting threshold.
type results struct {
	top      blockmax.Collector
	base     uint32 // global number of the first document of the current segment
	seed     uint32 // a need known in advance
	counting bool   // count documents without scoring them
	total    int    // matching documents seen in the current pass
	pruned   bool   // some matching documents may not have been seen

	work       blockmax.Work
	listBlocks int64 // blocks of all lists of all passes so far
	profile    *blockmax.Profile

	// When goroutines share a query, the collector is the job's.
	job   *job
	found []blockmax.Hit // not yet in that collector
}

// foundHits is how many hits a run keeps while other goroutines use the collector.
const foundHits = 128

// reset begins a plan.
func (o *results) reset(p *blockmax.Plan) {
	o.top.Reset(p.K, p.After)
	o.profile = p.Profile
	o.seed, o.total, o.pruned, o.counting, o.listBlocks, o.work = 0, 0, false, false, 0, blockmax.Work{}
}

// restart begins the next pass of a plan without the hits of the previous one.
func (o *results) restart(p *blockmax.Plan) {
	o.top.Reset(p.K, p.After)
	o.total, o.pruned = 0, false
	if o.profile != nil {
		o.profile.Restart()
	}
}

// need is the lowest score with which document doc of the segment, or a later one, can still enter.
// Once it is above zero, documents may be skipped unseen.
func (o *results) need(doc uint32) uint32 {
	if o.counting {
		return 0
	}
	n := max(o.seed, o.threshold(doc))
	if n > 0 {
		o.pruned = true
	}
	return n
}

// threshold is Need of the collector.
func (o *results) threshold(doc uint32) uint32 {
	doc += o.base
	j := o.job
	if j == nil {
		return o.top.Need(doc)
	}
	if len(o.found) > 0 {
		j.handOver(o)
	}
	worst := j.worst.Load()
	if worst == 0 {
		return 0
	}
	need := uint32(worst >> 32)
	if doc >= ^uint32(worst) {
		need++
	}
	return need
}

// offer passes a document of the segment with its whole score to the collector.
func (o *results) offer(doc, score uint32) {
	doc += o.base
	j := o.job
	if j == nil {
		o.top.Offer(doc, score)
		if o.profile != nil {
			o.raise(&o.top)
		}
		return
	}
	if hitKey(doc, score) <= j.worst.Load() {
		return
	}
	o.found = append(o.found, blockmax.Hit{Doc: doc, Score: score})
	if len(o.found) >= foundHits {
		j.handOver(o)
	}
}

// beginPass notes a pass, and the threshold that it begins with, in the profile of the plan.
func (o *results) beginPass(name string) {
	if o.profile != nil {
		o.profile.Begin(name)
		if !o.counting {
			o.profile.Raise(o.seed)
		}
	}
}

// raise notes the threshold in the profile of the plan.
func (o *results) raise(top *blockmax.Collector) {
	if h, full := top.Worst(); full {
		o.profile.Raise(h.Score)
	}
}

// skipped is how many blocks of the lists were not decoded. Goroutines that share a query may
// decode a block twice.
func (o *results) skipped() int64 { return max(0, o.listBlocks-o.work.BlocksDecoded) }
