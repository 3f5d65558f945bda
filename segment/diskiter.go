package segment

import "github.com/riffle-search/riffle/postings"

// Terms implements Reader.
func (d *Disk) Terms(field string, from []byte) (TermIterator, error) {
	i, ok := findField(d.meta.fields, field)
	if !ok {
		return &memoryTerms{at: -1}, nil // no terms
	}
	lower := d.termKey(i, from)
	prefix := lower[:len(lower)-len(from)]
	it, err := d.src.Scan(lower, after(prefix))
	if err != nil {
		return nil, d.at(err, lower)
	}
	return &diskTerms{d: d, it: it, prefix: len(prefix)}, nil
}

// diskTerms walks the term entries of one field.
type diskTerms struct {
	d      *Disk
	it     Iterator
	prefix int         // of keys, before the term
	ahead  *partsAhead // nil unless all lists are read
}

func (t *diskTerms) Next() bool   { return t.it.Next() }
func (t *diskTerms) Term() []byte { return t.it.Key()[t.prefix:] }
func (t *diskTerms) Err() error   { return t.d.at(t.it.Err(), []byte{byte(kindTerm)}) }

func (t *diskTerms) Close() error {
	if t.ahead != nil {
		t.ahead.close()
	}
	return t.it.Close()
}

func (t *diskTerms) List() (*postings.List, error) {
	return t.d.openList(t.it.Key(), t.it.Value(), t.ahead)
}

func (t *diskTerms) readAhead() { t.ahead = &partsAhead{d: t.d} }

func (t *diskTerms) shortEntry() []byte {
	if value := t.it.Value(); len(value) > 0 && value[0]&longEntry == 0 {
		return value
	}
	return nil
}
