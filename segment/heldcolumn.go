package segment

import (
	"slices"
	"sync/atomic"

	"github.com/riffle-search/riffle/columns"
)

// A HeldColumn is a column of values of a sealed segment that counts its memory: what it has read, unless
// the source has lent it, and its order.
type HeldColumn struct {
	*columns.Column
	read atomic.Int64 // bytes of parts in memory of this process
}

// HoldColumn opens the column of a field, or returns nil when the segment has none. grown is called when
// the column has read a part, which counts from then on. The reader of the column waits meanwhile.
func (d *Disk) HoldColumn(field string, grown func()) (*HeldColumn, error) {
	i, ok := slices.BinarySearch(d.meta.columns, field)
	if !ok {
		return nil, nil
	}
	h := new(HeldColumn)
	c, err := d.openColumn(uint32(i), func(part uint32) ([]byte, error) {
		payload, lent, err := d.sealedOrLent(valuesKey(uint32(i), part))
		if err == nil && !lent && part != columns.DirectoryPart {
			h.read.Add(int64(len(payload)))
			grown()
		}
		return payload, err
	})
	if err != nil {
		return nil, err
	}
	h.Column = c
	c.KeepOrder(grown)
	return h, nil
}

// Held is the memory that the column takes.
func (h *HeldColumn) Held() int64 {
	_, directory := h.Column.Bytes()
	return directory + h.read.Load() + h.Column.OrderBytes()
}

// Shrink drops what the column has read and its order. It reports whether that was anything.
func (h *HeldColumn) Shrink() bool {
	if h.read.Swap(0)+h.Column.OrderBytes() == 0 {
		return false
	}
	h.Column.Drop()
	return true
}
