package live

import (
	"fmt"
	"strings"

	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/store"
)

// The store keeps the updates of a field in layers: a first one, and on top of it layers with what came
// later, of which a document has the values of the highest that has it. A change adds a layer with the
// updates since the last change alone. Otherwise the second of a thousand updates would write a million
// that came before, again and again.
//
// A new layer swallows those below it that are at most twice as large, from the top, so that layers shrink
// by half at least: an update is written about as often as the updates can be halved, and Open reads a few
// layers of each field. When it has swallowed all, or the first is small, there is one layer again.

// A layer is one of them. patch is nil for the first, which is written again only as a part of all updates.
type layer struct {
	bytes int64 // of its value in the store
	patch *columns.Patch
}

// defaultLayerBytes is the size of the first layer from which it gets others.
const defaultLayerBytes = 64 << 10

// layerMark lies between a field and the number of its layer in the name of stored updates. It is no byte of
// a field, which is UTF-8, and only the first of segment.VersionColumn. The first layer has no number.
const layerMark = "\xff"

// maxLayers bounds the layers of a field, far above what sizes that halve can reach.
const maxLayers = 100

// layerName returns the name of the updates of a layer.
func layerName(field string, number int) string {
	if number == 0 {
		return field
	}
	return field + layerMark + string([]byte{byte(number)})
}

// parseLayerName is the inverse of layerName.
func parseLayerName(name string) (field string, number int, err error) {
	at := len(name) - len(layerMark) - 1
	if at < 0 || !strings.HasPrefix(name[at:], layerMark) {
		return name, 0, nil
	}
	number = int(name[at+len(layerMark)])
	if number == 0 || number > maxLayers {
		return name[:at], 0, corrupt.New(-1, "layer %d of updates", number)
	}
	return name[:at], number, nil
}

// store adds to the updates of an edit what the fold changes there. least is the size of the first layer from
// which there are others.
func (f *fold) store(to map[store.UpdatesOf][]byte, least int64) error {
	old := f.of.layers
	top, p, err := len(old), f.since, error(nil)
	var value []byte
	if top > 0 && old[0].bytes >= least {
		if value, err = marshalUpdates(p, layerVersion); err != nil {
			return f.s.at(err)
		}
		for size := int64(len(value)); top > 0 && (old[top-1].bytes <= 2*size || top >= maxLayers); top-- {
			size += old[top-1].bytes
		}
	} else {
		top = 0
	}
	switch {
	case top == 0:
		if value, err = marshalUpdates(f.patch, updatesVersion); err != nil {
			return f.s.at(err)
		}
		f.layers = []layer{{bytes: int64(len(value))}}
	case top < len(old):
		for i := len(old) - 1; i >= top && err == nil; i-- {
			p, err = combined(f.of.docs, old[i].patch, p)
		}
		if err == nil {
			value, err = marshalUpdates(p, layerVersion)
		}
		if err != nil {
			return f.s.at(err)
		}
		fallthrough
	default:
		f.layers = append(old[:top:top], layer{int64(len(value)), p})
	}
	to[f.name(top)] = value
	for i := top + 1; i < len(old); i++ {
		to[f.name(i)] = nil
	}
	return nil
}

// name returns the name of a layer in the store.
func (f *fold) name(number int) store.UpdatesOf {
	return store.UpdatesOf{Segment: f.s.number, Field: layerName(f.field, number)}
}

// openLayers reads the layers of each field of a segment of docs documents.
func (ix *Index) openLayers(all map[string][]byte, segment uint64, docs uint32) (map[string]*fieldUpdates, error) {
	fields := map[string]*fieldUpdates{}
	for name := range all {
		field, number, err := parseLayerName(name)
		if err != nil {
			return nil, atUpdates(err, segment, name)
		}
		if number > 0 {
			if _, ok := all[layerName(field, number-1)]; !ok {
				return nil, atUpdates(corrupt.New(-1, "it lies on none"), segment, name)
			}
			continue
		}
		var sum *columns.Patch
		var layers []layer
		for ; ; number++ {
			name := layerName(field, number)
			value, ok := all[name]
			if !ok {
				break
			}
			p, err := parseUpdates(value, docs, versionOfLayer(number))
			if err != nil {
				return nil, atUpdates(err, segment, name)
			}
			l := layer{int64(len(value)), p}
			if number == 0 {
				sum, l.patch = p, nil
			} else if sum, err = combined(docs, sum, p); err != nil {
				return nil, atUpdates(err, segment, name)
			}
			layers = append(layers, l)
		}
		fields[field] = newFieldUpdates(docs, sum, layers)
	}
	return fields, nil
}

// layerNote describes a layer in an error.
func layerNote(name string) string {
	field, number, err := parseLayerName(name)
	if err != nil || number == 0 {
		return fmt.Sprintf("field %q", document.ShortName(field))
	}
	return fmt.Sprintf("field %q, layer %d", document.ShortName(field), number)
}

// layerBytes is the memory of layers that are kept on their own.
func (f *fieldUpdates) layerBytes() (n int64) {
	for _, l := range f.layers {
		if l.patch == nil {
			continue
		}
		for _, c := range [...]*columns.Column{l.patch.Docs, l.patch.Values} {
			if c != nil {
				parts, own := c.Bytes()
				n += parts + own
			}
		}
	}
	return n
}
