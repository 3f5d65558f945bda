package scatter

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/riffle-search/riffle"
)

// A Revised is a Session that knows the revision of its snapshot.
type Revised interface {
	Session

	// Revision returns the revision of the session's snapshot (riffle.Snapshot.Revision); before the first
	// request, that which the session is expected to have; "" if nothing is known.
	Revision() string

	// SearchIf is Search if the snapshot of the session has a revision, or with "" whatever it has, and
	// fails with ErrRevision if it has another. With last the session may end then; if it is used again all
	// the same, it may be on another snapshot.
	SearchIf(ctx context.Context, revision string, last bool, q riffle.Query, o *riffle.SearchOptions) (*riffle.Result, error)
}

// ErrRevision says that a snapshot does not have the revision that was expected.
var ErrRevision = errors.New("the snapshot has another revision")

const (
	// cachedRevisions is how many revisions of a shard are remembered: its replicas may have different ones.
	cachedRevisions = 4

	// cachedTerms bounds the terms of a revision. When there are more, all are forgotten.
	cachedTerms = 1 << 16

	// afterMiss is how long the cache rests when a shard had another revision: an index that is written all
	// the time has no use for it.
	afterMiss = 50 * time.Millisecond
)

// CacheStatistics makes searches remember the statistics of terms. terms returns an index without documents,
// of the shards' current schema and options, which finds the terms of a query. It is called before the first
// search. Sessions must implement Revised; with others, nothing is remembered.
func (x *Index) CacheStatistics(terms func() riffle.Searcher) {
	x.cache = &cache{terms: terms, shards: make([]revisions, len(x.shards))}
}

// A cache has the statistics of terms by the revisions of shards. A nil cache has none.
type cache struct {
	terms func() riffle.Searcher

	mu     sync.Mutex
	shards []revisions
	rests  time.Time // until then
}

// revisions are those of a shard, the last used one first.
type revisions []*revision

// A revision is what is known of the documents of a shard at some moment.
type revision struct {
	name   string
	fields map[string]*cachedField
	terms  int // of all fields
}

type cachedField struct {
	documents, tokens uint64
	totals            bool // these are known
	terms             map[string]uint64
	traits            riffle.FieldTraits
}

// of returns a revision by its name, or nil.
func (c *cache) of(shard int, name string) *revision {
	list := c.shards[shard]
	for i, r := range list {
		if r.name == name {
			copy(list[1:i+1], list[:i])
			list[0] = r
			return r
		}
	}
	return nil
}

func (r *revision) field(name string) *cachedField {
	f := r.fields[name]
	if f == nil {
		f = &cachedField{terms: map[string]uint64{}}
		r.fields[name] = f
	}
	return f
}

// rest makes the cache rest after a shard had another revision than expected. Nothing is forgotten: other
// replicas may still have the old one.
func (c *cache) rest() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rests = time.Now().Add(afterMiss)
}

// learn remembers what the shards of a search have said. A part may be nil.
func (c *cache) learn(s *search, parts []*riffle.Statistics) {
	if c == nil {
		return
	}
	for i, part := range parts {
		session, ok := s.sessions[i].(Revised)
		if part == nil || !ok {
			continue
		}
		if name := session.Revision(); name != "" {
			c.learnPart(i, name, part)
		}
	}
}

func (c *cache) learnPart(shard int, name string, part *riffle.Statistics) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.of(shard, name)
	if r == nil || r.terms > cachedTerms {
		r = &revision{name: name, fields: map[string]*cachedField{}}
		list := c.shards[shard]
		if len(list) > 0 && list[0].name == name {
			list = list[1:]
		}
		list = append(revisions{r}, list...)
		c.shards[shard] = list[:min(len(list), cachedRevisions)]
	}
	for field, numbers := range part.Fields {
		f := r.field(field)
		f.documents, f.tokens, f.totals = numbers.Documents, numbers.Tokens, true
		for term, n := range numbers.Terms {
			if _, ok := f.terms[term]; !ok {
				r.terms++
			}
			f.terms[term] = n
		}
	}
	if part.Traits != nil {
		for field, traits := range part.Traits.Fields {
			f := r.field(field)
			if f.traits == 0 {
				r.terms++
			}
			f.traits |= traits
		}
	}
}

// guess returns the statistics of a search in revisions that its sessions are expected to have, and these
// revisions; or nil if not all of it is known.
func (c *cache) guess(ctx context.Context, s *search) (*riffle.Statistics, []string) {
	if c == nil || s.uncached {
		return nil, nil
	}
	known, found := c.expected(s)
	if known == nil {
		return nil, nil
	}
	o := s.meaning()
	o.Statistics = &riffle.Statistics{Traits: found}
	wanted, err := c.terms().Statistics(ctx, s.asked, &o)
	if err != nil || wanted.Traits != nil || len(wanted.Functions) > 0 {
		return nil, nil // it depends on more than numbers of terms, or names a field for the first time
	}
	sum := &riffle.Statistics{Fields: make(map[string]riffle.FieldStatistics, len(wanted.Fields)), Traits: found}
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, of := range wanted.Fields {
		to := riffle.FieldStatistics{Terms: make(map[string]uint64, len(of.Terms))}
		for _, r := range known {
			f := r.fields[name]
			if f == nil || !f.totals {
				return nil, nil
			}
			to.Documents, to.Tokens = to.Documents+f.documents, to.Tokens+f.tokens
			for term := range of.Terms {
				n, ok := f.terms[term]
				if !ok {
					return nil, nil
				}
				to.Terms[term] += n
			}
		}
		sum.Fields[name] = to
	}
	names := make([]string, len(known))
	for i, r := range known {
		names[i] = r.name
	}
	sum, again := riffle.SumStatistics(nil, sum)
	if again {
		return nil, nil
	}
	return sum, names
}

// expected returns the revisions that the sessions of a search are expected to have, and the traits of
// fields that all of them know; or nil.
func (c *cache) expected(s *search) (known []*revision, traits *riffle.Traits) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.rests.IsZero() && time.Now().Before(c.rests) {
		return nil, nil
	}
	for i, session := range s.sessions {
		revised, ok := session.(Revised)
		if !ok || s.missing[i] != nil {
			return nil, nil
		}
		r := c.of(i, revised.Revision())
		if r == nil {
			return nil, nil
		}
		known = append(known, r)
	}
	for name := range known[0].fields {
		var all riffle.FieldTraits
		for _, r := range known {
			f := r.fields[name]
			if f == nil || f.traits == 0 {
				all = 0
				break
			}
			all |= f.traits
		}
		if all == 0 {
			continue
		}
		if traits == nil {
			traits = &riffle.Traits{Fields: map[string]riffle.FieldTraits{}}
		}
		traits.Fields[name] = all
	}
	return known, traits
}
