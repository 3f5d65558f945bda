package main

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/riffle-search/riffle/internal/collection"
	"github.com/riffle-search/riffle/postings"
)

// codecs measures bits a posting, and integers a second on one core and on all, by codec and length
// of list: documents, with gaps summed up, and frequencies. Lists are in memory, in their form on a
// device.
func (b *bench) codecs() error {
	for _, codec := range []postings.Kind{postings.Packed, postings.PFor, postings.Rice} {
		var recoded *collection.Collection
		for longest := 1 << 10; longest/8 < int(b.c.Docs); longest *= 8 {
			err := b.measure("codecs", fmt.Sprintf("%v, %d to %d postings", codec, longest/8, longest), func() (_ []figure, err error) {
				if recoded == nil {
					if recoded, err = b.c.Recode(codec); err != nil {
						return nil, err
					}
				}
				return b.codec(recoded, longest/8, longest)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *bench) codec(c *collection.Collection, from, to int) ([]figure, error) {
	var lists []*postings.List
	var sizes postings.Sizes
	count := 0
	for i := range c.Lists {
		l := c.Lists[i].List
		if l.Count <= postings.BlockSize || l.Count < from || l.Count >= to {
			continue
		}
		s, err := l.SizeBreakdown()
		if err != nil {
			return nil, err
		}
		lists, count = append(lists, l), count+l.Count
		sizes.Add(s)
	}
	fs := []figure{{"lists", int64(len(lists))}}
	if count == 0 {
		return fs, nil
	}
	bits := func(bytes int) float64 { return 8 * float64(bytes) / float64(count) }
	fs = append(fs, figure{"document bits", bits(sizes.Docs)}, figure{"frequency bits", bits(sizes.Freqs)})
	for _, cores := range []int{1, runtime.GOMAXPROCS(0)} {
		rate, err := b.decode(lists, cores)
		if err != nil {
			return nil, err
		}
		fs = append(fs, figure{fmt.Sprintf("G ints/s, %d cores", cores), rate / 1e9})
	}
	return fs, nil
}

// decode decodes lists repeatedly for a while, and returns integers a second of the fastest round.
func (b *bench) decode(lists []*postings.List, cores int) (best float64, err error) {
	count := 0
	for _, l := range lists {
		count += l.Count
	}
	for start := time.Now(); best == 0 || time.Since(start) < b.seconds; {
		var failed atomic.Pointer[error]
		began := time.Now()
		collection.InParallel(len(lists), cores, func(i int) {
			if err := decodeAll(lists[i]); err != nil {
				failed.Store(&err)
			}
		})
		if err := failed.Load(); err != nil {
			return 0, *err
		}
		best = max(best, 2*float64(count)/time.Since(began).Seconds())
	}
	return best, nil
}

// decodeAll decodes the documents and frequencies of a list.
func decodeAll(l *postings.List) error {
	var values [postings.BlockSize]uint32
	for b := range l.Blocks() {
		if _, err := l.Docs(b, &values); err != nil {
			return err
		}
		if _, err := l.Freqs(b, &values); err != nil {
			return err
		}
	}
	return nil
}
