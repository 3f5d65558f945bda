package cpuexec

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/internal/geo"
)

// An Order is how matches are sorted: by its keys, one after the other, and then by document.
type Order struct {
	Keys []SortKey

	// ID appends the id of a document of a segment of the plan, for keys By ID.
	ID func(dst []byte, segment int, doc uint32) ([]byte, error)

	// IDs, unless nil, has for each segment of the plan the order of its ids, or nil where that is not
	// known. Where it is, documents are compared by the places of their ids, and ID is called only for
	// those that are found.
	IDs []IDOrder

	// After, unless nil, admits only matches that come after a place. With Ties it admits also those
	// that have all keys of it.
	After *Place
	Ties  bool
}

// An IDOrder is the order of the ids of a segment, by bytes: the least id is at place 0.
type IDOrder interface {
	// IDPlace returns the place of a document of the segment.
	IDPlace(doc uint32) (uint32, error)

	// IDPlaces sets dst to the places of the documents of a tile, and returns how many there are.
	IDPlaces(tile int, dst *[blockmax.TileDocs]uint32) (n int, err error)

	// IDPlaceBounds returns bounds of the places of the documents of a tile.
	IDPlaceBounds(tile int) (least, greatest uint32, err error)

	// PlaceOfID returns how many ids are below an id, and whether it is one of them.
	PlaceOfID(id string) (place uint32, found bool, err error)
}

// By is what a key sorts by.
type By uint8

const (
	ByColumn By = iota
	ByScore
	ByID
)

// A SortMode chooses the value of a document that has several.
type SortMode uint8

const (
	LeastValue SortMode = iota
	GreatestValue
	MedianValue // the lower one of an even number
)

// A SortKey is one key of an Order. Lower values come first, unless it is descending.
type SortKey struct {
	By           By
	Columns      []*columns.Column // ByColumn: of the segments of the plan; nil for one without values
	From         *geo.Origin       // ByColumn, of places: sorts by the distance from it, in metres; or nil
	Mode         SortMode
	Desc         bool
	MissingFirst bool // where documents without a value come, in both directions
}

// A KeyValue is what a document has for one key: for distances a number.
type KeyValue struct {
	Missing bool
	Value   columns.Value // ByScore: of kind Uint, the score at the plan's scale; ByID: of kind Terms, its Term is the id
}

// A Place is a document in an Order.
type Place struct {
	Doc   uint32     // global number
	Score uint32     // 0 unless a key is the score
	Keys  []KeyValue // of the keys of the order
}

// check returns an error for an order that does not fit a plan.
func (o *Order) check(p *blockmax.Plan) error {
	if len(o.Keys) == 0 {
		return fmt.Errorf("cpuexec: an order without keys")
	}
	for i := range o.Keys {
		k := &o.Keys[i]
		switch {
		case k.By > ByID || k.Mode > MedianValue:
			return fmt.Errorf("cpuexec: key %d sorts by %d, mode %d", i, k.By, k.Mode)
		case k.By == ByColumn && len(k.Columns) != len(p.Segments):
			return fmt.Errorf("cpuexec: key %d has %d columns for %d segments", i, len(k.Columns), len(p.Segments))
		case k.By == ByID && o.ID == nil:
			return fmt.Errorf("cpuexec: key %d sorts by ids, and there are none", i)
		case k.By == ByID && o.IDs != nil && len(o.IDs) != len(p.Segments):
			return fmt.Errorf("cpuexec: orders of ids for %d segments of %d", len(o.IDs), len(p.Segments))
		}
	}
	if o.After != nil && len(o.After.Keys) != len(o.Keys) {
		return fmt.Errorf("cpuexec: a place with %d keys in an order of %d", len(o.After.Keys), len(o.Keys))
	}
	return nil
}

// Scored reports whether the order needs scores.
func (o *Order) Scored() bool {
	for i := range o.Keys {
		if o.Keys[i].By == ByScore {
			return true
		}
	}
	return false
}

// compare is negative when a has a place before b's by key i alone.
func (o *Order) compare(i int, a, b *KeyValue) int {
	k := &o.Keys[i]
	if a.Missing || b.Missing {
		switch {
		case a.Missing == b.Missing:
			return 0
		case a.Missing == k.MissingFirst:
			return -1
		}
		return 1
	}
	var c int
	if k.By == ByID {
		c = strings.Compare(a.Value.Term, b.Value.Term)
	} else {
		c = columns.Compare(a.Value, b.Value)
	}
	if k.Desc {
		return -c
	}
	return c
}

// Compare is negative when a comes before b.
func (o *Order) Compare(a, b *Place) int {
	for i := range o.Keys {
		if c := o.compare(i, &a.Keys[i], &b.Keys[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(a.Doc, b.Doc)
}
