package live

import (
	"encoding/binary"
	"fmt"

	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/internal/format"
)

// The store keeps the updates of a field of a segment, those of each layer, as one value:
//
//	version (uvarint, 1 for the first layer, 2 for the others, which builds without layers must not ignore)
//	the documents: a column of kind bool in which they have the value 1
//	their values: a column of those that have one
//
// each of them as the parts that package columns specifies, in their order: the number of parts (uvarint; 0
// for a column without values), and for each its number (uvarint), its length (uvarint) and its bytes.
//
// For example, of four documents, document 1 has got the keyword "b", document 2 has lost its keyword and
// document 3 has got "a". The first column is its directory alone, number 1<<32 - 1, and so is the second:
//
//	01
//	01 ff ff ff ff 0f 0a  02 05 04 01 00 cc 02 02 00 00
//	01 ff ff ff ff 0f 19  02 06 04 01 02 00 07 01 61 00 01 62 00 00 00 be 01 00 00 00 01 01 30 00 00

// The versions of updates (format.Updates).
const (
	updatesVersion = 1
	layerVersion   = 2
)

// versionOfLayer returns that of the updates of a layer.
func versionOfLayer(number int) uint64 {
	if number == 0 {
		return updatesVersion
	}
	return layerVersion
}

// marshalUpdates returns the value of a patch in a version.
func marshalUpdates(p *columns.Patch, version uint64) ([]byte, error) {
	dst := binary.AppendUvarint(nil, version)
	for _, c := range [...]*columns.Column{p.Docs, p.Values} {
		var parts []byte
		n := uint64(0)
		if c != nil {
			err := c.Parts(func(part uint32, data []byte) error {
				n++
				parts = binary.AppendUvarint(parts, uint64(part))
				parts = binary.AppendUvarint(parts, uint64(len(data)))
				parts = append(parts, data...)
				return nil
			})
			if err != nil {
				return nil, err
			}
		}
		dst = append(binary.AppendUvarint(dst, n), parts...)
	}
	return dst, nil
}

// parseUpdates is the inverse of marshalUpdates, for a segment of docs documents. The patch keeps data.
func parseUpdates(data []byte, docs uint32, want uint64) (*columns.Patch, error) {
	version, n := binary.Uvarint(data)
	if n <= 0 {
		return nil, corrupt.New(0, "no version")
	}
	if err := format.Updates.Check(version); err != nil {
		return nil, err
	}
	if version != want {
		return nil, corrupt.New(0, "version %d, where %d belongs", version, want)
	}
	p := new(columns.Patch)
	at := n
	for _, c := range [...]**columns.Column{&p.Docs, &p.Values} {
		var err error
		if *c, at, err = parseParts(data, at, docs); err != nil {
			return nil, err
		}
	}
	switch {
	case at != len(data):
		return nil, corrupt.New(at, "%d bytes are left", len(data)-at)
	case p.Docs == nil || p.Docs.Kind() != columns.Bool:
		return nil, corrupt.New(n, "no column of documents")
	}
	return p, nil
}

// parseParts reads a column, which is nil without parts, and returns where it ends.
func parseParts(data []byte, at int, docs uint32) (*columns.Column, int, error) {
	fault := func(what string) error { return corrupt.New(at, "no %s in the last %d bytes", what, len(data)-at) }
	uvarint := func() (uint64, bool) {
		x, n := binary.Uvarint(data[at:])
		if n > 0 {
			at += n
		}
		return x, n > 0
	}
	n, ok := uvarint()
	if !ok {
		return nil, at, fault("number of parts")
	}
	parts := map[uint32][]byte{}
	for range n {
		part, ok := uvarint()
		size, sized := uvarint()
		if !ok || !sized || part > columns.DirectoryPart || size > uint64(len(data)-at) {
			return nil, at, fault("part")
		}
		parts[uint32(part)] = data[at : at+int(size) : at+int(size)]
		at += int(size)
	}
	if n == 0 {
		return nil, at, nil
	}
	c, err := columns.Open(parts[columns.DirectoryPart], func(part uint32) ([]byte, error) {
		if data, ok := parts[part]; ok {
			return data, nil
		}
		return nil, corrupt.New(-1, "part %d is missing", part)
	})
	if err == nil && c.SegmentDocs() != int(docs) {
		err = corrupt.New(-1, "a column of %d documents, want %d", c.SegmentDocs(), docs)
	}
	return c, at, err
}

// openUpdates reads the updates of a sealed segment.
func (ix *Index) openUpdates(s *liveSegment) (*updates, error) {
	all, err := ix.store.Updates(s.number)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	u := (*updates)(nil).clone()
	u.fields, err = ix.openLayers(all, s.number, s.disk.Docs())
	return u, err
}

// atUpdates adds to an error that it is about stored updates.
func atUpdates(err error, segment uint64, name string) error {
	return corrupt.At(err, fmt.Sprintf("updates of segment %d, %s", segment, layerNote(name)))
}

// checkUpdates reads the stored updates of a segment of docs documents, and reports their faults.
func (ix *Index) checkUpdates(segment uint64, docs uint32, report func(error)) error {
	all, err := ix.store.Updates(segment)
	for name, value := range all {
		var p *columns.Patch
		_, number, err := parseLayerName(name)
		if err == nil {
			p, err = parseUpdates(value, docs, versionOfLayer(number))
		}
		if err == nil {
			err = p.Docs.Check()
		}
		if err == nil && p.Values != nil {
			err = p.Values.Check()
		}
		if err != nil {
			report(atUpdates(err, segment, name))
		}
	}
	return err
}
