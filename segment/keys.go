package segment

import (
	"encoding/binary"
	"fmt"

	"github.com/riffle-search/riffle/columns"
)

// A Kind is the first byte of a segment's key. Values of kinds below kindPlain are worth
// compressing; those of later kinds are already dense.
type Kind byte

// The kinds, in key order. Never reuse the number of a reserved kind.
const (
	kindTerm   Kind = 0x01 // field, term -> posting list, or its number
	kindID     Kind = 0x02 // page -> 256 ids in ascending order, and their documents
	kindHead   Kind = 0x03 // chunk -> first ids of 1,024 pages
	kindStored Kind = 0x04 // last document -> stored bytes of several
	kindPlace  Kind = 0x05 // chunk -> places of 4,096 (or 65,536) documents among the ids
	kindMeta   Kind = 0x7f // -> everything about the segment as a whole

	kindPlain      Kind = 0x80 // the first kind that is not compressed
	kindList       Kind = 0x80 // list, part -> directory part or payload chunk of a long list
	kindNorms      Kind = 0x81 // field, chunk -> length codes of 65,536 documents, of all or of those that have the field
	kindRank       Kind = 0x82 // chunk -> static ranks of 32,768 documents
	kindTiles      Kind = 0x83 // field -> best pairs of each tile
	kindReserved   Kind = 0x84 // reserved: was meant for positions
	kindValues     Kind = 0x85 // column, part -> part of a column of values
	kindDevice     Kind = 0x86 // reserved: layouts made for one kind of device
	kindNormSums   Kind = 0x87 // field -> checksums of length codes, tile by tile
	kindPlainPlace Kind = 0x88 // chunk -> places, as kindPlace, in a segment with the feature plainPlaces

	kindPositioned    Kind = 0xe0 // the first kind of the table of positions
	kindPosition      Kind = 0xe0 // list, part -> directory part or chunk of the positions of a long list
	kindPositionShort Kind = 0xe1 // page -> positions of short lists

	// kindCoded sorts after all other kinds: it has tables of its own.
	kindCoded Kind = 0xf0 // run -> stored documents in codes; after the runs, their lengths and the table
)

// Part numbers of a long list: directory parts come first, then chunks.
const chunkPart = 1 << 31

// wideField is the first field whose number takes six bytes in a key: a two-byte mark and four
// bytes.
const wideField = 1<<16 - 1

// appendField appends the number of a field. Shorter numbers sort before longer ones, so keys sort
// in the order of their fields.
func appendField(dst []byte, version byte, field uint32) []byte {
	if field < wideField || version <= oldFieldVersion {
		return binary.BigEndian.AppendUint16(dst, uint16(field))
	}
	dst = binary.BigEndian.AppendUint16(dst, wideField)
	return binary.BigEndian.AppendUint32(dst, field)
}

// cutField takes the number of a field off the front of rest, the bytes of a key after its kind.
func cutField(rest []byte, version byte) (field uint32, tail []byte, ok bool) {
	if len(rest) < 2 {
		return 0, nil, false
	}
	field, rest = uint32(binary.BigEndian.Uint16(rest)), rest[2:]
	if field < wideField || version <= oldFieldVersion {
		return field, rest, true
	}
	if len(rest) < 4 {
		return 0, nil, false
	}
	field = binary.BigEndian.Uint32(rest)
	return field, rest[4:], field >= wideField
}

// appendTermKey appends the key of a term's posting list.
func appendTermKey(dst []byte, version byte, field uint32, term []byte) []byte {
	return append(appendField(append(dst, byte(kindTerm)), version, field), term...)
}

// numberKey makes the key of a kind that has only a number: chunks of a column, stored blocks.
func numberKey(kind Kind, n uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{byte(kind)}, n)
}

// normsKey makes the key of one chunk of a field's length codes.
func normsKey(version byte, field, chunk uint32) []byte {
	return binary.BigEndian.AppendUint32(appendField([]byte{byte(kindNorms)}, version, field), chunk)
}

// tilesKey makes the key of a field's tiles.
func tilesKey(version byte, field uint32) []byte {
	return appendField([]byte{byte(kindTiles)}, version, field)
}

// normSumsKey makes the key of the checksums of a field's length codes.
func normSumsKey(version byte, field uint32) []byte {
	return appendField([]byte{byte(kindNormSums)}, version, field)
}

// listKey makes the key of a directory part, or of a chunk when part has
// chunkPart set.
func listKey(list, part uint32) []byte {
	key := binary.BigEndian.AppendUint32([]byte{byte(kindList)}, list)
	return binary.BigEndian.AppendUint32(key, part)
}

// positionKey is listKey for the positions of a list.
func positionKey(list, part uint32) []byte {
	key := listKey(list, part)
	key[0] = byte(kindPosition)
	return key
}

// after returns the end of the range of keys that begin with prefix.
func after(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i]++; end[i] != 0 {
			return end[:i+1]
		}
	}
	panic(fmt.Sprintf("BUG: no key follows prefix %x", prefix))
}

// keyTail is how many bytes follow the kind, or the field if there is one; -1 means any number.
var keyTail = map[Kind]int{
	kindTerm: -1, kindID: 4, kindHead: 4, kindStored: 4, kindPlace: 4, kindMeta: 0,
	kindList: 8, kindNorms: 4, kindRank: 4, kindTiles: 0,
	kindNormSums: 0, kindValues: 4, kindPlainPlace: 4, kindCoded: 4, kindPosition: 8, kindPositionShort: 4,
}

// hasField reports whether keys of a kind begin with a field, or with a column of values, which are numbered
// alike.
func (k Kind) hasField() bool {
	return k == kindTerm || k == kindNorms || k == kindTiles || k == kindNormSums || k == kindValues
}

// cutKey splits a key. ok is false for keys that no segment of the version has.
func cutKey(key []byte, version byte) (kind Kind, field uint32, rest []byte, ok bool) {
	if len(key) == 0 {
		return 0, 0, nil, false
	}
	kind, rest = Kind(key[0]), key[1:]
	n, ok := keyTail[kind]
	if ok && kind.hasField() {
		field, rest, ok = cutField(rest, version)
	}
	return kind, field, rest, ok && (n < 0 || len(rest) == n)
}

// KeyString describes in words what a key of a segment refers to. It accepts any bytes.
func KeyString(key []byte) string {
	return keyString(key, Version, func(_ Kind, field uint32) string { return fmt.Sprint(field) })
}

// keyString is KeyString for a segment of a version, with names instead of numbers for fields and columns.
func keyString(key []byte, version byte, nameOf func(Kind, uint32) string) string {
	fieldName := func(field uint32) string { return nameOf(Kind(key[0]), field) }
	kind, field, rest, ok := cutKey(key, version)
	if len(key) == 0 {
		return "empty key"
	}
	if !ok {
		return fmt.Sprintf("unknown key %x", key)
	}
	be := binary.BigEndian
	switch kind {
	case kindTerm:
		return fmt.Sprintf("field %s, term %q", fieldName(field), rest)
	case kindID:
		return fmt.Sprintf("page %d of ids", be.Uint32(rest))
	case kindHead:
		return fmt.Sprintf("first ids of pages from page %d", uint64(be.Uint32(rest))*idHeadPages)
	case kindPlace, kindPlainPlace:
		return fmt.Sprintf("places of documents, chunk %d", be.Uint32(rest))
	case kindStored:
		return fmt.Sprintf("stored documents up to %d", be.Uint32(rest))
	case kindMeta:
		return "meta"
	case kindList:
		if part := be.Uint32(rest[4:]); part >= chunkPart {
			return fmt.Sprintf("list %d, chunk %d", be.Uint32(rest), part-chunkPart)
		}
		return fmt.Sprintf("list %d, directory part %d", be.Uint32(rest), be.Uint32(rest[4:]))
	case kindPosition:
		if part := be.Uint32(rest[4:]); part >= chunkPart {
			return fmt.Sprintf("list %d, chunk %d of positions", be.Uint32(rest), part-chunkPart)
		}
		return fmt.Sprintf("list %d, directory part %d of positions", be.Uint32(rest), be.Uint32(rest[4:]))
	case kindPositionShort:
		return fmt.Sprintf("page %d of positions of short lists", be.Uint32(rest))
	case kindNorms:
		return fmt.Sprintf("norms of field %s, chunk %d", fieldName(field), be.Uint32(rest))
	case kindRank:
		return fmt.Sprintf("rank of documents from %d", uint64(be.Uint32(rest))*rankChunkDocs)
	case kindNormSums:
		return fmt.Sprintf("checksums of norms of field %s", fieldName(field))
	case kindValues:
		switch part := be.Uint32(rest); {
		case part == columns.DirectoryPart:
			return fmt.Sprintf("directory of the column of %s", fieldName(field))
		case part >= columns.PayloadParts:
			return fmt.Sprintf("column of %s, chunk %d", fieldName(field), part-columns.PayloadParts)
		default:
			return fmt.Sprintf("column of %s, part %d of its terms", fieldName(field), part)
		}
	case kindCoded:
		switch run := be.Uint32(rest); run {
		case codedLengths:
			return "lengths of runs of stored documents"
		case codedTable:
			return "table of stored documents"
		default:
			return fmt.Sprintf("stored documents, run %d", run)
		}
	default:
		return fmt.Sprintf("tiles of field %s", fieldName(field))
	}
}
