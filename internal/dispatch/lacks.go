package dispatch

import (
	"math"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/postings"
)

// A lackedList is a list of a query that perhaps must be copied to a device.
type lackedList struct {
	list  *postings.List
	key   uint64
	bytes int64
}

// findLacks finds the lists of a job that some device may lack, before any lock is taken: batches are
// formed with Dispatcher.mu, a thousand queries at a time, and mostly lack nothing.
//
// It returns how many bytes a device lacks of them.
func (d *Dispatcher) findLacks(j *job) (missing int64) {
	for s := range j.query.Plan.Segments {
		terms := j.query.Plan.Segments[s].Terms
		for t := range terms {
			switch term := &terms[t]; {
			case term.Bounds == nil:
			case term.Key == 0 && term.List.Blocks() == 1:
				j.small += listBytes(term.List)
				missing += listBytes(term.List)
			default:
				if resident, all := d.resident(term.Key); !all {
					l := lackedList{term.List, term.Key, listBytes(term.List)}
					j.lacks, missing = append(j.lacks, l), missing+max(0, l.bytes-resident)
				}
			}
		}
	}
	return missing
}

// resident reports whether all devices have a list in a form that suffices for most queries. If one has
// not, it returns how many bytes of the list that one has.
func (d *Dispatcher) resident(key uint64) (bytes int64, all bool) {
	if key == 0 {
		return 0, false
	}
	for _, dev := range d.devices {
		if !dev.lost.Load() {
			if bytes = dev.Resident(key); bytes != math.MaxInt64 {
				return bytes, false
			}
		}
	}
	return 0, true
}

// missing is how many bytes of the list are not on a device.
func (l *lackedList) missing(dev Device) int64 {
	if l.key == 0 || dev == nil {
		return l.bytes
	}
	return max(0, l.bytes-dev.Resident(l.key))
}

// missing is how many bytes of a list are not on a device.
func missing(t *blockmax.Term, dev Device) int64 {
	resident := int64(0)
	if t.Key != 0 && dev != nil {
		resident = dev.Resident(t.Key)
	}
	if resident == math.MaxInt64 {
		return 0 // without a look at the list, whose directory is in no core's cache
	}
	return max(0, listBytes(t.List)-resident)
}

// listBytes is the size of a list's payload.
func listBytes(l *postings.List) int64 {
	return postings.RowBytes * int64(l.PayloadRows())
}
