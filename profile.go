package riffle

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/plan"
	"github.com/riffle-search/riffle/internal/search"
)

// ProfileOptions bound a Profile. A field left at its zero value takes the default that its comment names.
type ProfileOptions struct {
	// Lists is how many posting lists to return, at most: of more, those with the most blocks. The default
	// is 100.
	Lists int

	// Runs is how many runs of blocks to return, at most, for all lists together. The default is 2,000.
	Runs int
}

const (
	defaultProfileLists = 100
	defaultProfileRuns  = 2000
)

func (o *ProfileOptions) validate() error {
	switch {
	case o == nil:
		return nil
	case o.Lists < 0:
		return plan.Errorf("SearchOptions.Profile.Lists", "must not be negative, as %d is", o.Lists)
	case o.Runs < 0:
		return plan.Errorf("SearchOptions.Profile.Runs", "must not be negative, as %d is", o.Runs)
	}
	return nil
}

// A Profile says how a search ran: SearchOptions.Profile asks for it. It is of the ranking, or of the count
// of a search without hits; aggregations and the filters of a query read lists that it does not have. In
// JSON times are nanoseconds.
//
// The first searches for words cost more than later ones: they also make bounds and bitmaps for those,
// from blocks that they would not need themselves.
type Profile struct {
	Choice ProfileChoice `json:"choice"`
	Times  ProfileTimes  `json:"times"`

	// Passes are the algorithms that ran, one after another.
	Passes []ProfilePass `json:"passes"`

	Segments []ProfileSegment `json:"segments"`
	Lists    []ProfileList    `json:"lists"` // by segment, and then in the order of the query's words

	// Omitted is how many lists are not in Lists, because of ProfileOptions.Lists.
	Omitted int `json:"omitted,omitempty"`

	Blocks ProfileBlocks `json:"blocks"` // of all lists, also the omitted ones

	// DeviceBlocks is how many blocks a GPU decoded. It does not tell which, so Lists has them as skipped.
	// Of a search for no hits it may be more than were read: see Work.BlocksDecoded.
	DeviceBlocks int64 `json:"device_blocks,omitempty"`

	// Threshold is how the least score of a hit rose, in at most 128 steps: from then on documents and blocks
	// that cannot reach it were passed over. It is empty while there were fewer than K hits.
	Threshold []ProfileThreshold `json:"threshold,omitempty"`

	since time.Time // of the next phase
}

// A ProfileChoice says why a search ran where Result.Executor says.
type ProfileChoice struct {
	Why string `json:"why"` // a phrase

	// Estimates of the time from the call to the answer, with the waits, on the CPU and on a GPU, and of the
	// wait for a core. They are 0 unless the engine compared them.
	CPU     time.Duration `json:"cpu_ns,omitempty"`
	CPUWait time.Duration `json:"cpu_wait_ns,omitempty"`
	GPU     time.Duration `json:"gpu_ns,omitempty"`

	// The load of an engine with a GPU: searches that the CPU computed, searches that waited for GPUs, and
	// bytes of the query's lists that were not resident on the GPU that has most of them.
	Running int   `json:"running,omitempty"`
	Queued  int   `json:"queued,omitempty"`
	Missing int64 `json:"missing_bytes,omitempty"`
}

// ProfileTimes are the times of the phases of a search. Analyse, Plan, Execute, Fetch and Aggregate follow
// one another.
type ProfileTimes struct {
	Analyse   time.Duration `json:"analyse_ns"`             // of the texts in the query
	Plan      time.Duration `json:"plan_ns"`                // to open lists, weigh words, and evaluate filters
	Execute   time.Duration `json:"execute_ns"`             // to find the hits
	Fetch     time.Duration `json:"fetch_ns"`               // of ids, stored fields and fragments
	Aggregate time.Duration `json:"aggregate_ns,omitempty"` // of SearchOptions.Aggregations

	// Of Execute: the wait for a core or a GPU, the time that the CPU worked (with helping cores from the
	// first's begin to the last's end), and the time that a GPU worked for the batch with this search.
	Wait time.Duration `json:"wait_ns,omitempty"`
	CPU  time.Duration `json:"cpu_ns,omitempty"`
	GPU  time.Duration `json:"gpu_ns,omitempty"`
}

// A ProfilePass is one pass of an algorithm over the lists.
type ProfilePass struct {
	Algorithm string `json:"algorithm"` // "bmm", "and", "tree", "count" and so on
	Why       string `json:"why"`       // it was chosen, and what it does
}

// A ProfileSegment is a part of the index that the plan treats as one: a segment, or one of two parts of
// that in memory.
type ProfileSegment struct {
	Engine   string `json:"engine,omitempty"` // of a Multi: the name
	Number   uint64 `json:"number,omitempty"` // as in SegmentStats; 0 in memory
	First    uint32 `json:"first"`            // number of its first document in the index
	Docs     uint32 `json:"docs"`             // deleted ones included
	Accepted int    `json:"accepted"`         // documents that are not deleted and pass the filters
}

// A ProfileList is the posting list of a word in a segment.
type ProfileList struct {
	Segment  int           `json:"segment"` // index of Profile.Segments
	Field    string        `json:"field"`
	Term     string        `json:"term"`   // in hexadecimal unless it is text
	Weight   float64       `json:"weight"` // idf times boost; 0 if it does not score
	Bound    float64       `json:"bound"`  // the most that it adds to a score
	Postings int           `json:"postings"`
	Blocks   ProfileBlocks `json:"blocks"`
	Runs     []ProfileRun  `json:"runs"` // all blocks, by document
}

// ProfileBlocks count blocks of 128 postings by what the search did with them.
type ProfileBlocks struct {
	// Decoded blocks were decoded or looked into. Of Bounded ones the search compared bounds, those of the
	// block or of words of 64 documents in it, with the threshold. Of Skipped ones it did not even do that:
	// the bound of more documents was enough, or no document there has all required words.
	Decoded int `json:"decoded"`
	Bounded int `json:"bounded"`
	Skipped int `json:"skipped"`

	// Decoding is how often a block was decoded. It exceeds Decoded when cores or passes decode the same.
	// That of Profile.Blocks, with Profile.DeviceBlocks, is Work.BlocksDecoded of a search with hits.
	Decoding int64 `json:"decoding"`
}

// A ProfileRun is successive blocks of a list. They are all in one state, unless ProfileOptions.Runs is too
// small for that.
type ProfileRun struct {
	First   uint32  `json:"first"` // numbers of documents in the index, between which its documents lie
	Last    uint32  `json:"last"`
	Blocks  int     `json:"blocks"`
	Decoded int     `json:"decoded,omitempty"` // of Blocks, as in ProfileBlocks; the others were skipped
	Bounded int     `json:"bounded,omitempty"`
	Bound   float64 `json:"bound"` // the most that a document of it adds to a score
}

// A ProfileThreshold is a step of the threshold.
type ProfileThreshold struct {
	Decoding int64   `json:"decoding"` // how often a block had been decoded by then
	Score    float64 `json:"score"`
}

// profile returns the profile of a search that has been answered, or nil.
func (v scope) profile(x *search.Run, o *SearchOptions, executor string) *Profile {
	from := x.Profiled()
	if from == nil {
		return nil
	}
	c, d := search.Compiled(x), &from.Decision
	p := &Profile{
		Choice: ProfileChoice{Why: cmp.Or(v.whyForced(o), d.Why, "no other processor was asked"), CPU: d.CPU, CPUWait: d.CPUWait, GPU: d.GPU, Running: d.Running, Queued: d.Queued, Missing: d.Missing},
		Times:  ProfileTimes{Analyse: from.Analyse, Plan: from.Plan, Execute: from.Execute, Wait: d.Waited, CPU: d.OnCPU, GPU: d.OnGPU},
		Passes: []ProfilePass{}, Segments: []ProfileSegment{}, DeviceBlocks: d.DeviceBlocks,
	}
	if d.OnGPU > 0 {
		name, _, _ := strings.Cut(executor, "+")
		p.Passes = append(p.Passes, ProfilePass{name, whyGPU})
	}
	for _, name := range from.Blocks.Passes() {
		p.Passes = append(p.Passes, ProfilePass{name, v.whyPass(name, o)})
	}
	for _, r := range from.Blocks.Rises() {
		p.Threshold = append(p.Threshold, ProfileThreshold{r.Decoding, float64(r.Score) / c.Scale})
	}
	for s := range c.Plan.Segments {
		seg := &c.Plan.Segments[s]
		to := ProfileSegment{Number: v.Segment(s).StoreNumber(), First: seg.Base, Docs: seg.Docs, Accepted: accepted(seg)}
		if v.m != nil {
			to.Engine = v.m.names[v.NumberOf(seg.Base)]
		}
		p.Segments = append(p.Segments, to)
	}
	p.addLists(c, from.Blocks, o.Profile)
	p.since = time.Now()
	return p
}

// accepted counts the documents of a segment that may be hits.
func accepted(seg *blockmax.Segment) (docs int) {
	if seg.Accept == nil {
		return int(seg.Docs)
	}
	for _, word := range seg.Accept {
		docs += bits.OnesCount64(word)
	}
	return docs
}

// addLists adds the lists of a plan.
func (p *Profile) addLists(c *plan.Compiled, of *blockmax.Profile, o *ProfileOptions) {
	type place struct{ segment, term int }
	var places []place
	for s := range c.Plan.Segments {
		for t := range c.Plan.Weights {
			if l := of.Of(s, t); l.List != nil {
				places = append(places, place{s, t})
				p.Blocks.add(blocksOf(l))
			}
		}
	}
	blocks := func(a place) int { return of.Of(a.segment, a.term).List.Blocks() }
	kept := slices.Clone(places)
	slices.SortStableFunc(kept, func(a, b place) int { return cmp.Compare(blocks(b), blocks(a)) })
	kept = kept[:min(len(kept), cmp.Or(o.Lists, defaultProfileLists))]
	p.Omitted = len(places) - len(kept)

	// Short lists first: they leave the runs that they do not need to others.
	left, runs := cmp.Or(o.Runs, defaultProfileRuns), make(map[place][]blockmax.BlockRun, len(kept))
	for i, at := range slices.Backward(kept) {
		runs[at] = of.Of(at.segment, at.term).Runs(max(1, left/(i+1)))
		left -= len(runs[at])
	}
	p.Lists = make([]ProfileList, 0, len(kept))
	for _, at := range places {
		if runs, ok := runs[at]; ok {
			p.Lists = append(p.Lists, listOf(c, at.segment, at.term, of.Of(at.segment, at.term), runs))
		}
	}
}

// listOf returns the list of a term in a segment.
func listOf(c *plan.Compiled, segment, term int, l *blockmax.ListProfile, runs []blockmax.BlockRun) ProfileList {
	seg, weight := &c.Plan.Segments[segment], c.Plan.Weights[term]
	score := func(impact uint16) float64 { return float64(blockmax.Contribution(weight, impact)) / c.Scale }
	to := ProfileList{
		Segment: segment, Weight: float64(weight) / c.Scale, Bound: score(seg.Terms[term].Bounds.List), Postings: l.List.Count, Blocks: blocksOf(l),
		Runs: make([]ProfileRun, len(runs)),
	}
	to.Field, to.Term = c.Term(term)
	for i, r := range runs {
		to.Runs[i] = ProfileRun{First: seg.Base + r.First, Last: seg.Base + r.Last, Blocks: r.Blocks, Decoded: r.Decoded, Bounded: r.Bounded, Bound: score(r.Bound)}
	}
	return to
}

func blocksOf(l *blockmax.ListProfile) ProfileBlocks {
	decoded, bounded := l.Count()
	return ProfileBlocks{Decoded: decoded, Bounded: bounded, Skipped: l.List.Blocks() - decoded - bounded, Decoding: l.Decoding()}
}

func (b *ProfileBlocks) add(o ProfileBlocks) {
	b.Decoded, b.Bounded, b.Skipped, b.Decoding = b.Decoded+o.Decoded, b.Bounded+o.Bounded, b.Skipped+o.Skipped, b.Decoding+o.Decoding
}

// fetched notes that the hits have been fetched.
func (p *Profile) fetched() {
	if p != nil {
		now := time.Now()
		p.Times.Fetch, p.since = now.Sub(p.since), now
	}
}

// aggregated notes that the aggregations have been computed, if there are any.
func (p *Profile) aggregated(o *SearchOptions) {
	if p != nil && len(o.Aggregations) > 0 {
		p.Times.Aggregate = time.Since(p.since)
	}
}

// whyForced says what leaves the engine no choice of the processor, or nothing.
func (v scope) whyForced(o *SearchOptions) string {
	exec := &v.e.opts.Exec
	if o.Exec != nil {
		exec = o.Exec
	}
	switch {
	case v.m != nil:
		return "several engines are searched as one, on the CPU"
	case o.Processor == ProcessorGPU:
		return "the search asks for a GPU (SearchOptions.Processor)"
	case o.Processor == ProcessorCPU:
		return "the search asks for the CPU (SearchOptions.Processor)"
	case v.e.accelerator == nil && v.e.opts.GPU == nil:
		return "the engine uses no GPU (Options.GPU)"
	case v.e.accelerator == nil:
		return v.e.noGPU().Error()
	case o.Collapse != nil || len(o.Sort) > 0 && !byScoreAlone(o.Sort):
		return "the CPU sorts and collapses hits (SearchOptions.Sort, Collapse)"
	case exec.Algorithm != AlgorithmAuto:
		return "the search asks for an algorithm of the CPU (Exec.Algorithm)"
	}
	return ""
}

// whyPass says why an algorithm was chosen, and what it does.
func (v scope) whyPass(algorithm string, o *SearchOptions) string {
	does := map[string]string{
		"bmm":        "block-max MaxScore: passes over tiles and words of documents whose bounds are too low",
		"bmw":        "block-max WAND: goes from pivot to pivot by the bounds of blocks",
		"maxscore":   "MaxScore: takes documents from the lists without which none can be a hit",
		"wand":       "WAND: goes from pivot to pivot by the bounds of lists",
		"exhaustive": "scores every document that matches",
		"and":        "all words are required: the rarest list leads, and the others are looked up",
		"tree":       "a boolean query, a phrase or the like: adds up the bounds of its clauses, and passes over words of documents where they are too low",
		"sort":       "hits are in the order of values: passes over tiles whose values come too late",
		"collapse":   "one hit for each value: visits every document that matches",
		"count":      "counts the documents that match, without scores",
	}[algorithm]
	exec := &v.e.opts.Exec
	if o.Exec != nil {
		exec = o.Exec
	}
	switch {
	case exec.Algorithm.String() == algorithm:
		return does + "; Exec.Algorithm asks for it"
	case algorithm == "bmm":
		return does + "; the fastest by measurement"
	}
	return does
}

// whyGPU is whyPass for a GPU.
const whyGPU = "MaxScore by tiles of documents, many searches at a time"
