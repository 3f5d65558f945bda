package segment

import (
	"cmp"
	"slices"
)

const (
	// minGraphDocs is the fewest documents that a merge reorders. A smaller segment is soon merged
	// again, and its lists have few blocks to skip.
	minGraphDocs = 2048

	// minGraphTerm is the fewest documents of a term that counts. A shorter list has at most one
	// block, which is never skipped. On Gutenberg passages, counting terms of 8 documents and more
	// made the index 0.3 % larger, because lists of frequent terms then gain less; so did counting
	// only those of 512 and more.
	minGraphTerm = 64

	// maxGraphShare excludes terms that more than one in maxGraphShare documents has. With them the
	// index was as large and took longer.
	maxGraphShare = 2

	// graphDocBytes is the memory per document of finding an order; graphTermBytes that per term
	// and worker.
	graphDocBytes  = 8 + 8 + 8 // forward.starts, docKey, origin
	graphTermBytes = 8 + 4 + 4 // splitScratch
)

// sortByGraph orders m.from so that documents with common terms are close together.
func (m *merger) sortByGraph() error {
	if m.docs < minGraphDocs {
		return nil
	}
	f, err := m.makeForward()
	if err != nil {
		return err
	}
	keys, err := bisect(m.ctx, f, m.graphWorkers(f), m.opts.Cores)
	if err != nil {
		return err
	}
	from := make([]origin, len(keys))
	for doc, k := range keys {
		from[doc] = m.from[k.doc()]
	}
	m.from = from
	return nil
}

// graphWorkers is how many workers there is memory for. Memory for the first was reserved when
// terms were chosen.
func (m *merger) graphWorkers(f *forward) int {
	left := m.opts.MemoryBytes - f.bytes()
	more := left / int64(graphTermBytes*max(1, f.vocabulary))
	return 1 + int(min(max(more, 0), int64(m.opts.Workers-1)))
}

// A forward index has, for each document, the terms that matter for the order. Terms are numbered
// by falling number of documents, so that the beginning of per-term data stays cached.
type forward struct {
	starts     []uint64 // where the terms of each document begin in terms, and where the last one's end
	terms      []uint32
	vocabulary int // terms are numbered below it
}

func (f *forward) docs() int { return len(f.starts) - 1 }

// of returns the terms of a document.
func (f *forward) of(doc uint32) []uint32 { return f.terms[f.starts[doc]:f.starts[doc+1]] }

// bytes is the memory that finding an order takes with one worker.
func (f *forward) bytes() int64 {
	return graphDocBytes*int64(f.docs()) + 4*int64(len(f.terms)) + graphTermBytes*int64(f.vocabulary)
}

// makeForward inverts the lists of the inputs: once to count and once to write.
func (m *merger) makeForward() (*forward, error) {
	chosen, err := m.chooseTerms()
	if err != nil {
		return nil, err
	}
	f := &forward{starts: make([]uint64, m.docs+1), vocabulary: chosen.vocabulary}
	if err := m.eachChosen(chosen, func(_, doc uint32) { f.starts[doc]++ }); err != nil {
		return nil, err
	}
	total := uint64(0)
	for doc, n := range f.starts {
		f.starts[doc] = total
		total += n
	}
	f.terms = make([]uint32, total)
	err = m.eachChosen(chosen, func(term, doc uint32) {
		f.terms[f.starts[doc]] = term
		f.starts[doc]++
	})
	copy(f.starts[1:], f.starts) // each has advanced to where the next one began
	f.starts[0] = 0
	return f, err
}

// chosenTerms numbers the terms of a forward index.
type chosenTerms struct {
	numbers    []uint32 // of each term with enough postings, in the order of the walk; noTerm for those left out
	vocabulary int
	atLeast    int // the fewest postings that are enough
}

const noTerm = ^uint32(0)

// chooseTerms chooses the terms of the forward index. Candidates have at least minGraphTerm
// documents but not most of them. Of these it takes as many as fit into memory, the rarest first,
// which help most for their memory. With a third of the postings by the rarest terms the index of
// shuffled Gutenberg passages is 1.7 % smaller than shuffled, by the most frequent ones 1.5 %, with
// all 2.2 %. For passages in order of books it is, respectively, as large as in that order, 0.8 %
// larger, and 0.7 % smaller.
func (m *merger) chooseTerms() (*chosenTerms, error) {
	c := &chosenTerms{atLeast: minGraphTerm}
	var counts []int
	err := m.eachFieldTerm(func(lists []inputList) error {
		if n := countPostings(lists); n >= c.atLeast {
			counts = append(counts, n)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	falling := make([]int, len(counts))
	for i := range falling {
		falling[i] = i
	}
	slices.SortStableFunc(falling, func(i, j int) int { return cmp.Compare(counts[j], counts[i]) })
	c.numbers = slices.Repeat([]uint32{noTerm}, len(counts))
	left := m.opts.MemoryBytes - graphDocBytes*int64(m.docs)
	first := len(falling)
	for first > 0 && counts[falling[first-1]] <= int(m.docs)/maxGraphShare {
		if left -= 4*int64(counts[falling[first-1]]) + graphTermBytes; left < 0 {
			break
		}
		first--
	}
	for term, i := range falling[first:] {
		c.numbers[i] = uint32(term)
	}
	c.vocabulary = len(falling) - first
	return c, nil
}

// countPostings adds up the postings of a term, including those of deleted documents.
func countPostings(lists []inputList) int {
	n := 0
	for _, l := range lists {
		n += l.list.Count
	}
	return n
}

// eachFieldTerm calls visit for each term of each field.
func (m *merger) eachFieldTerm(visit func(lists []inputList) error) error {
	for _, field := range m.fieldNames() {
		err := m.eachTerm(field, func(_ []byte, lists []inputList) error { return visit(lists) })
		if err != nil {
			return err
		}
	}
	return nil
}

// eachChosen calls f for each live document of each chosen term.
func (m *merger) eachChosen(c *chosenTerms, f func(term, doc uint32)) error {
	next := 0
	return m.eachFieldTerm(func(lists []inputList) error {
		if countPostings(lists) < c.atLeast {
			return nil
		}
		term := c.numbers[next]
		next++
		if term == noTerm {
			return nil
		}
		for _, l := range lists {
			m.scan.Reset(l.list)
			if err := m.eachPosting(l.input, &m.scan, func(doc, _ uint32) { f(term, doc) }); err != nil {
				return err
			}
		}
		return nil
	})
}
