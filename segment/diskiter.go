package segment

import (
	"bytes"

	"github.com/riffle-search/riffle/postings"
)

// Terms implements Reader.
func (d *Disk) Terms(field string, from []byte) (TermIterator, error) {
	i, ok := findField(d.meta.fields, field)
	if !ok {
		return &memoryTerms{at: -1}, nil // no terms
	}
	lower := appendTermKey(nil, uint16(i), from)
	it, err := d.src.Scan(lower, after(lower[:3]))
	if err != nil {
		return nil, d.at(err, lower)
	}
	return &diskTerms{d: d, it: it}, nil
}

// diskTerms walks the term entries of one field.
type diskTerms struct {
	d  *Disk
	it Iterator
}

func (t *diskTerms) Next() bool   { return t.it.Next() }
func (t *diskTerms) Term() []byte { return t.it.Key()[3:] }
func (t *diskTerms) Err() error   { return t.d.at(t.it.Err(), []byte{byte(KindTerm)}) }
func (t *diskTerms) Close() error { return t.it.Close() }

func (t *diskTerms) List() (*postings.List, error) {
	return t.d.openList(bytes.Clone(t.it.Key()), bytes.Clone(t.it.Value()))
}

// IDs implements Reader.
func (d *Disk) IDs(from string) (IDIterator, error) {
	lower := appendLookupKey(nil, from)
	it, err := d.src.Scan(lower, after(lower[:1]))
	if err != nil {
		return nil, d.at(err, lower)
	}
	return &diskIDs{d: d, it: it}, nil
}

// diskIDs walks the lookups of a segment.
type diskIDs struct {
	d   *Disk
	it  Iterator
	doc uint32
	err error
}

func (t *diskIDs) Next() bool {
	if t.err != nil || !t.it.Next() {
		return false
	}
	t.doc, t.err = t.d.lookup(t.it.Key(), t.it.Value())
	return t.err == nil
}

func (t *diskIDs) ID() []byte   { return t.it.Key()[1:] }
func (t *diskIDs) Doc() uint32  { return t.doc }
func (t *diskIDs) Close() error { return t.it.Close() }

func (t *diskIDs) Err() error {
	if t.err != nil {
		return t.err
	}
	return t.d.at(t.it.Err(), []byte{byte(KindLookup)})
}
