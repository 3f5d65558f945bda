package columns

import (
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// Check reads the whole column and reports what an encoder would not have written.
func (c *Column) Check() error {
	for i, sum := range c.d.sums {
		chunk, err := c.chunk(uint32(i))
		if err != nil {
			return err
		}
		if got := crc32.Checksum(chunk, castagnoli); got != sum {
			return corrupt.New(-1, "chunk %d of the payload has the checksum %08x, the directory says %08x", i, got, sum)
		}
	}
	for i := range c.d.tiles {
		t := &c.d.tiles[i]
		d, err := c.decoder(t)
		if err != nil {
			return err
		}
		defer d.release()
		d.decode()
		if least, greatest := slices.Min(d.keys), slices.Max(d.keys); least != t.least || greatest != t.greatest {
			return corrupt.New(-1, "tile %d has keys %d to %d, the directory says %d to %d", t.number, least, greatest, t.least, t.greatest)
		}
		for rank := range int(t.docs) {
			if from, end := d.valuesOf(rank); !slices.IsSorted(d.keys[from:end]) {
				return corrupt.New(-1, "tile %d: the keys of document %d of those with a value do not ascend", t.number, rank)
			}
		}
	}
	if c.dictionary != nil {
		return c.dictionary.check()
	}
	return nil
}

// check reads all terms.
func (d *Dictionary) check() error {
	var before []byte
	part := 0
	return d.Each(0, d.Len(), func(ord int, term []byte) error {
		if ord > 0 && string(before) >= string(term) {
			return corrupt.New(-1, "term %d, %q, behind %q", ord, term, before)
		}
		if _, err := ParseTerm(term); err != nil {
			return fmt.Errorf("term %d: %w", ord, err)
		}
		if part < len(d.index.firsts) && int(d.index.firsts[part]) == ord {
			if bound := string(d.index.bounds[part]); bound > string(term) || ord > 0 && bound <= string(before) {
				return corrupt.New(-1, "term %d, %q, is the first of a part with the bound %q", ord, term, bound)
			}
			part++
		}
		before = append(before[:0], term...)
		return nil
	})
}
