package blockmax

import (
	"slices"

	"github.com/riffle-search/riffle/postings"
)

// Part returns the bounds of a part of the list that b bounds. norms are the length codes of the
// part's documents, nil if the field keeps none.
func (b *Bounds) Part(p *postings.Part, t *Table, norms []uint8) (*Bounds, error) {
	n := p.Blocks()
	b.Need(p.First, p.First+n)
	of := &Bounds{Block: slices.Clone(b.Block[p.First : p.First+n])}
	if err := of.addStrays(p, t, norms); err != nil {
		return nil, err
	}
	for from := 0; from < n; from += postings.ExtentBlocks {
		of.Extent = append(of.Extent, slices.Max(of.Block[from:min(from+postings.ExtentBlocks, n)]))
	}
	of.List = slices.Max(of.Extent)
	return of, nil
}

// addStrays makes the bound of the first block hold for its strays.
func (b *Bounds) addStrays(p *postings.Part, t *Table, norms []uint8) error {
	if p.Strays == 0 {
		return nil
	}
	var docs [postings.BlockSize]uint32
	if _, err := p.Docs(0, &docs); err != nil {
		return err
	}
	for _, doc := range docs[:p.Strays] {
		code := uint8(1)
		if norms != nil {
			code = norms[doc]
		}
		b.Block[0] = max(b.Block[0], t.Impact(1, code))
	}
	return nil
}
