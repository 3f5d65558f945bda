package segment

import (
	"context"

	"github.com/riffle-search/riffle/postings"
)

// Sizes divides the bytes of a sealed segment: keys and values as the Sink gets them, without what
// the store adds or saves (compression of kinds below 0x80, indexes, filters).
type Sizes struct {
	Postings   uint64 // how many
	Docs       uint64 // bytes of documents in blocks
	Freqs      uint64 // bytes of frequencies in blocks
	Directory  uint64 // entries, directories, guards and checksums of lists
	Positions  uint64 // positions, with their directories and keys
	Dictionary uint64 // keys of terms and of long lists' parts
	IDs        uint64 // ids and the places of documents among them
	Norms      uint64
	Columns    uint64 // of values
	Stored     uint64
	Other      uint64 // meta, ranks, tiles
}

// Add adds o to s.
func (s *Sizes) Add(o Sizes) {
	s.Postings += o.Postings
	s.Docs += o.Docs
	s.Freqs += o.Freqs
	s.Directory += o.Directory
	s.Positions += o.Positions
	s.Dictionary += o.Dictionary
	s.IDs += o.IDs
	s.Norms += o.Norms
	s.Columns += o.Columns
	s.Stored += o.Stored
	s.Other += o.Other
}

// Sizes reads the whole segment, payloads included, and adds up its parts.
func (d *Disk) Sizes(ctx context.Context) (Sizes, error) {
	var s Sizes
	if err := d.sizeKeys(ctx, &s); err != nil {
		return s, err
	}
	for _, f := range d.meta.fields {
		if err := d.sizeLists(ctx, f.Name, &s); err != nil {
			return s, err
		}
	}
	return s, nil
}

func (d *Disk) sizeKeys(ctx context.Context, s *Sizes) error {
	it, err := d.src.Scan([]byte{0}, []byte{0xff})
	if err != nil {
		return err
	}
	defer it.Close()
	for it.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		key, value := uint64(len(it.Key())), uint64(len(it.Value()))
		switch Kind(it.Key()[0]) {
		case kindTerm, kindList: // values are sized list by list, without the number of a long one
			s.Dictionary += key
			if Kind(it.Key()[0]) == kindTerm && value > 0 && it.Value()[0]&longEntry != 0 {
				s.Directory += entryTail
			}
		case kindID, kindHead, kindPlace, kindPlainPlace:
			s.IDs += key + value
		case kindPosition, kindPositionShort:
			s.Positions += key + value
		case kindNorms, kindNormSums:
			s.Norms += key + value
		case kindValues:
			s.Columns += key + value
		case kindStored, kindCoded:
			s.Stored += key + value
		default:
			s.Other += key + value
		}
	}
	return it.Err()
}

func (d *Disk) sizeLists(ctx context.Context, field string, s *Sizes) error {
	it, err := d.Terms(field, nil)
	if err != nil {
		return err
	}
	defer it.Close()
	var sum postings.Sizes
	for it.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		l, err := it.List()
		if err != nil {
			return err
		}
		s.Postings += uint64(l.Count)
		size, err := l.SizeBreakdown()
		if err != nil {
			return err
		}
		sum.Add(size)
	}
	s.Docs += uint64(sum.Docs)
	s.Freqs += uint64(sum.Freqs)
	s.Directory += uint64(sum.Directory)
	return it.Err()
}
