package segment

import (
	"bytes"
	"math/bits"
	"slices"

	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/internal/dictionary"
	"github.com/riffle-search/riffle/postings"
)

// A Pattern picks some of the terms of a field, such as all with a prefix.
type Pattern interface {
	// Range returns bounds of the terms that the pattern picks: from <= term < to, and no upper bound
	// if to is nil. With all, it picks every term between them.
	Range() (from, to []byte, all bool)

	// Find yields the numbers of the terms that the pattern picks, in any order, until yield returns
	// false. It is not called if the pattern picks all terms of its range.
	Find(d *dictionary.Dictionary, yield func(i int) bool)
}

// A Match is a term that a pattern has picked. It is valid during the visit.
type Match struct {
	Term []byte

	disk  *Disk
	key   []byte // of a disk
	value []byte

	view   *MemoryView // of a segment in memory
	field  *memoryField
	number uint32
	tail   *MemoryTail // which is all that counts of the view; or nil
}

// Ascending reports whether the terms of the segment are visited in ascending order.
func (m *Match) Ascending() bool { return m.disk != nil }

// Postings returns how many documents of the segment have the term.
func (m *Match) Postings() (int, error) {
	if m.disk != nil {
		entry, _, err := splitEntry(m.value)
		n := 0
		if err == nil {
			n, err = postings.Count(entry)
		}
		return n, m.disk.at(err, m.key)
	}
	l, err := m.list()
	if err != nil || l == nil {
		return 0, err
	}
	return l.Count, nil
}

// Meets reports whether a document of a set may have the term, by document of the segment. It does not
// read lists of more than a block. scan is scratch.
func (m *Match) Meets(set []uint64, scan *postings.Scan) (bool, error) {
	if m.disk != nil {
		if len(m.value) > 0 && m.value[0]&longEntry != 0 {
			return true, nil
		}
		if _, err := scan.ResetShort(m.value, nil); err != nil {
			return false, m.disk.at(err, m.key)
		}
	} else {
		l, err := m.list()
		if err != nil || l == nil {
			return false, err
		}
		scan.Reset(l)
	}
	for scan.Next() {
		for _, doc := range scan.Docs[:scan.N] {
			if doc/64 < uint32(len(set)) && set[doc/64]>>(doc%64)&1 == 1 {
				return true, nil
			}
		}
	}
	return false, scan.Err()
}

// list opens the list of a term in memory. It is nil if no document of the view has the term.
func (m *Match) list() (*postings.List, error) {
	if m.tail != nil {
		return m.tail.List(m.field.info.Name, string(m.Term))
	}
	m.view.m.mu.Lock()
	defer m.view.m.mu.Unlock()
	if t := m.field.term(m.number); t.first < m.view.docs {
		return m.field.view(t, m.number, m.view.docs, &m.view.m.chunk), nil
	}
	return nil, nil
}

// A Union gathers the documents that have at least one of many terms.
type Union struct {
	Set   []uint64 // by document of the segment
	Terms int      // how many were added

	// Opened, if it is not nil, returns the list of a term if the caller has it open, else nil. It is
	// asked for stored lists of more than a block. A list that Add opens itself is not kept: most serve
	// no other query, and opening one from its row takes less than a cache for it.
	Opened func(term []byte) *postings.List

	scan postings.Scan
}

// Add adds the documents of a term.
func (u *Union) Add(m *Match) error {
	u.Terms++
	if m.disk != nil {
		if len(m.value) > 0 && m.value[0]&longEntry != 0 {
			return u.addLong(m)
		}
		last, err := u.scan.ResetShort(m.value, nil)
		if err == nil && last >= m.disk.meta.docs {
			err = corrupt.New(-1, "document %d in a segment of %d", last, m.disk.meta.docs)
		}
		if err != nil {
			return m.disk.at(err, m.key)
		}
		return u.read()
	}
	l, err := m.list()
	if err != nil || l == nil {
		return err
	}
	u.scan.Reset(l)
	return u.read()
}

// addLong adds the documents of a stored list of more than a block.
func (u *Union) addLong(m *Match) error {
	var l *postings.List
	if u.Opened != nil {
		l = u.Opened(m.Term)
	}
	if l == nil {
		var err error
		if l, err = m.disk.openList(m.key, m.value, nil); err != nil {
			return err
		}
	}
	return m.disk.at(u.addList(l), m.key)
}

// addList adds the documents of a stored list. It makes no rows of blocks that have none.
func (u *Union) addList(l *postings.List) error {
	if words := l.Bitmap(); words != nil {
		for i, word := range words[:min(len(words), len(u.Set))] {
			u.Set[i] |= word
		}
		return nil
	}
	if err := l.Complete(); err != nil {
		return err
	}
	for b := range l.Blocks() {
		n, _, err := l.ReadDocs(b, &u.scan.Docs)
		if err != nil {
			return err
		}
		if last := u.scan.Docs[n-1]; int(last/64) >= len(u.Set) {
			return corrupt.New(-1, "document %d, there are %d at most", last, 64*len(u.Set))
		}
		for _, doc := range u.scan.Docs[:n] {
			u.Set[doc/64] |= 1 << (doc % 64)
		}
	}
	return nil
}

func (u *Union) read() error {
	for u.scan.Next() {
		for _, doc := range u.scan.Docs[:u.scan.N] {
			u.Set[doc/64] |= 1 << (doc % 64)
		}
	}
	return u.scan.Err()
}

// A Counter counts the documents of a set that have a term.
type Counter struct {
	Set []uint64 // by document of the segment

	// Opened is as in a Union.
	Opened func(term []byte) *postings.List

	scan postings.Scan
}

// Count returns how many documents of the set have a term.
func (c *Counter) Count(m *Match) (n int, err error) {
	if m.disk == nil {
		l, err := m.list()
		if err != nil || l == nil {
			return 0, err
		}
		c.scan.Reset(l)
	} else if len(m.value) > 0 && m.value[0]&longEntry != 0 {
		var l *postings.List
		if c.Opened != nil {
			l = c.Opened(m.Term)
		}
		if l == nil {
			if l, err = m.disk.openList(m.key, m.value, nil); err != nil {
				return 0, err
			}
		}
		n, err = c.inList(l)
		return n, m.disk.at(err, m.key)
	} else if _, err := c.scan.ResetShort(m.value, nil); err != nil {
		return 0, m.disk.at(err, m.key)
	}
	for c.scan.Next() {
		n += c.inBlock(c.scan.N)
	}
	return n, c.scan.Err()
}

// inList counts the documents of a stored list of more than a block. It makes no rows of blocks that have
// none.
func (c *Counter) inList(l *postings.List) (n int, err error) {
	if words := l.Bitmap(); words != nil {
		for i, word := range words[:min(len(words), len(c.Set))] {
			n += bits.OnesCount64(word & c.Set[i])
		}
		return n, nil
	}
	if err := l.Complete(); err != nil {
		return 0, err
	}
	for b := range l.Blocks() {
		inBlock, _, err := l.ReadDocs(b, &c.scan.Docs)
		if err != nil {
			return 0, err
		}
		n += c.inBlock(inBlock)
	}
	return n, nil
}

// inBlock counts the documents of a block.
func (c *Counter) inBlock(size int) (n int) {
	for _, doc := range c.scan.Docs[:size] {
		if doc/64 < uint32(len(c.Set)) {
			n += int(c.Set[doc/64] >> (doc % 64) & 1)
		}
	}
	return n
}

// Dictionary returns the terms of a field, which are read when they are first needed. The number of a
// term is that of its row.
func (d *Disk) Dictionary(field string) (*dictionary.Dictionary, error) {
	i, ok := findField(d.meta.fields, field)
	if !ok {
		return new(dictionary.Dictionary), nil
	}
	terms, err := d.fieldTerms(i)
	return terms.words, err
}

// fieldTerms are the terms of a field, and how many documents have each. Both are read in one scan of
// the rows, which takes most of the time for either.
type fieldTerms struct {
	words  *dictionary.Dictionary
	counts []uint32
	err    error // of the first count that cannot be read; the terms are whole
}

func (d *Disk) fieldTerms(field int) (fieldTerms, error) {
	terms, err := d.terms[field].get(&d.heldBytes, func() (t fieldTerms, size int64, err error) {
		var b dictionary.Builder
		err = d.eachRow(field, nil, after(d.termKey(field, nil)), func(m *Match, _ int) error {
			b.Add(m.Term)
			n, err := m.Postings()
			if t.counts = append(t.counts, uint32(n)); err != nil && t.err == nil {
				t.err = err
			}
			return nil
		})
		t.words, t.counts = b.Dictionary(), slices.Clip(t.counts)
		return t, int64(t.words.Bytes() + 4*len(t.counts)), err
	})
	if kept := d.terms[field].p.Load(); kept != nil && kept.words == terms.words && d.trigrams != nil {
		terms.words.IndexGrams(d.trigrams)
	}
	return terms, err
}

// A TrigramBudget bounds the memory of indexes of terms by their trigrams, of any number of segments. The
// zero value admits none.
type TrigramBudget = dictionary.GramBudget

// IndexTrigrams lets searches make indexes of terms by their trigrams, within a budget. It must be
// called before the segment is searched.
func (d *Disk) IndexTrigrams(b *TrigramBudget) { d.trigrams = b }

// DropTrigrams gives the memory of these indexes back to the budget. There will be no more of them.
func (d *Disk) DropTrigrams() {
	for i := range d.terms {
		if terms := d.terms[i].p.Load(); terms != nil && terms.words != nil {
			terms.words.DropGrams()
		}
	}
}

// nearRows is how many rows between two terms are read rather than passed over by another look-up,
// which takes as long as twenty of them.
const nearRows = 16

// Matching calls visit with each term of a field that a pattern picks, in ascending order.
func (d *Disk) Matching(field string, p Pattern, visit func(m *Match) error) error {
	i, ok := findField(d.meta.fields, field)
	if !ok {
		return nil
	}
	from, to, all := p.Range()
	if all {
		upper := after(d.termKey(i, nil))
		if to != nil {
			upper = d.termKey(i, to)
		}
		return d.eachRow(i, from, upper, func(m *Match, _ int) error { return visit(m) })
	}
	words, err := d.Dictionary(field)
	if err != nil {
		return err
	}
	for numbers := find(words, p); len(numbers) > 0; {
		n := 1
		for n < len(numbers) && numbers[n]-numbers[n-1] <= nearRows {
			n++
		}
		if err := d.matchRows(i, words, numbers[:n], visit); err != nil {
			return err
		}
		numbers = numbers[n:]
	}
	return nil
}

// find returns the numbers of the terms that a pattern picks, ascending.
func find(d *dictionary.Dictionary, p Pattern) (numbers []int) {
	p.Find(d, func(i int) bool {
		numbers = append(numbers, i)
		return true
	})
	slices.Sort(numbers)
	return numbers
}

// matchRows visits terms whose rows are near each other.
func (d *Disk) matchRows(field int, words *dictionary.Dictionary, numbers []int, visit func(m *Match) error) error {
	first := words.Term(numbers[0])
	if len(numbers) == 1 {
		m := Match{Term: first, disk: d, key: d.termKey(field, first)}
		var err error
		if m.value, err = d.need(m.key); err != nil {
			return err
		}
		return visit(&m)
	}
	last := words.Term(numbers[len(numbers)-1])
	at := numbers[0]
	err := d.eachRow(field, first, append(d.termKey(field, last), 0), func(m *Match, row int) error {
		if len(numbers) == 0 || at+row != numbers[0] {
			return nil
		}
		numbers = numbers[1:]
		return visit(m)
	})
	if err == nil && len(numbers) > 0 {
		err = d.at(corrupt.New(-1, "the term has no row"), d.termKey(field, words.Term(numbers[0])))
	}
	return err
}

// eachRow visits the terms of a field from one on, with the number of their row from there, up to a
// key.
func (d *Disk) eachRow(field int, from, upper []byte, visit func(m *Match, row int) error) error {
	lower := d.termKey(field, from)
	prefix := len(lower) - len(from)
	if bytes.Compare(lower, upper) >= 0 {
		return nil
	}
	it, err := d.src.Scan(lower, upper)
	if err != nil {
		return d.at(err, lower)
	}
	defer it.Close()
	m := Match{disk: d}
	for row := 0; it.Next(); row++ {
		m.key, m.value = it.Key(), it.Value()
		m.Term = m.key[prefix:]
		if err := visit(&m, row); err != nil {
			return err
		}
	}
	return d.at(it.Err(), lower)
}

// Matching calls visit with each term of a field that a pattern picks, in no particular order. Terms
// that no document of the view has may be among them.
func (v *MemoryView) Matching(field string, p Pattern, visit func(m *Match) error) error {
	v.m.mu.Lock()
	f := v.field(field)
	v.m.mu.Unlock()
	if f == nil {
		return nil
	}
	from, to, all := p.Range()
	m := Match{view: v, field: f}
	return f.words.each(v.m, f, func(run *wordRun) error {
		var numbers []int
		if all {
			end := run.words.Len()
			if to != nil {
				end = run.words.Search(to)
			}
			for i := run.words.Search(from); i < end; i++ {
				numbers = append(numbers, i)
			}
		} else {
			numbers = find(run.words, p)
		}
		for _, i := range numbers {
			m.Term, m.number = run.words.Term(i), run.numbers[i]
			if err := visit(&m); err != nil {
				return err
			}
		}
		return nil
	})
}

// Matching is that of the whole view. Terms that only documents before the tail have are among those
// that it visits.
func (t *MemoryTail) Matching(field string, p Pattern, visit func(m *Match) error) error {
	return t.view.Matching(field, p, func(m *Match) error {
		m.tail = t
		return visit(m)
	})
}
