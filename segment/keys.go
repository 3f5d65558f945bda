package segment

import (
	"encoding/binary"
	"fmt"
)

// A Kind is the first byte of a segment's key. Kinds below KindPlain hold bytes
// that are worth compressing; those from KindPlain up are dense already.
type Kind byte

// The kinds, in key order. Numbers of reserved kinds are not to be reused.
const (
	KindTerm   Kind = 0x01 // field, term -> posting list, or where it is
	KindID     Kind = 0x02 // page -> 256 ids in ascending order, and their documents
	KindHead   Kind = 0x03 // chunk -> first ids of 1,024 pages
	KindStored Kind = 0x04 // last document -> stored bytes of several
	KindPlace  Kind = 0x05 // chunk -> places of 65,536 documents among the ids
	KindMeta   Kind = 0x7f // -> everything about the segment as a whole

	KindPlain    Kind = 0x80 // the first kind that is not compressed
	KindList     Kind = 0x80 // list, part -> directory part or payload chunk of a long list
	KindNorms    Kind = 0x81 // field, chunk -> length codes of 65,536 documents
	KindRank     Kind = 0x82 // chunk -> static ranks of 32,768 documents
	KindTiles    Kind = 0x83 // field -> best pairs of each tile
	KindPosition Kind = 0x84 // reserved: positions of a list
	KindValues   Kind = 0x85 // reserved: columns of values for sorting and faceting
	KindDevice   Kind = 0x86 // reserved: layouts made for one kind of processor
)

// Part numbers of a long list: directory parts come first, then chunks.
const chunkPart = 1 << 31

// appendTermKey appends the key of a term's posting list.
func appendTermKey(dst []byte, field uint16, term []byte) []byte {
	dst = append(dst, byte(KindTerm))
	dst = binary.BigEndian.AppendUint16(dst, field)
	return append(dst, term...)
}

// numberKey makes the key of a kind that is numbered: chunks of a column, stored
// blocks.
func numberKey(kind Kind, n uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{byte(kind)}, n)
}

// normsKey makes the key of one chunk of a field's length codes.
func normsKey(field uint16, chunk uint32) []byte {
	key := binary.BigEndian.AppendUint16([]byte{byte(KindNorms)}, field)
	return binary.BigEndian.AppendUint32(key, chunk)
}

// tilesKey makes the key of a field's tiles.
func tilesKey(field uint16) []byte {
	return binary.BigEndian.AppendUint16([]byte{byte(KindTiles)}, field)
}

// listKey makes the key of a directory part, or of a chunk when part has
// chunkPart set.
func listKey(list, part uint32) []byte {
	key := binary.BigEndian.AppendUint32([]byte{byte(KindList)}, list)
	return binary.BigEndian.AppendUint32(key, part)
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

// numbers of bytes that follow the kind, where that is fixed; -1 where it is not.
var keyTail = map[Kind]int{
	KindTerm: -1, KindID: 4, KindHead: 4, KindStored: 4, KindPlace: 4, KindMeta: 0,
	KindList: 8, KindNorms: 6, KindRank: 4, KindTiles: 2,
}

// KeyString says in words what a key of a segment leads to. It takes any bytes.
func KeyString(key []byte) string {
	return keyString(key, func(field uint16) string { return fmt.Sprint(field) })
}

// keyString is KeyString with names for the numbers of fields.
func keyString(key []byte, fieldName func(uint16) string) string {
	if len(key) == 0 {
		return "empty key"
	}
	kind, rest := Kind(key[0]), key[1:]
	if n, known := keyTail[kind]; !known || n >= 0 && len(rest) != n || kind == KindTerm && len(rest) < 2 {
		return fmt.Sprintf("unknown key %x", key)
	}
	be := binary.BigEndian
	switch kind {
	case KindTerm:
		return fmt.Sprintf("field %s, term %q", fieldName(be.Uint16(rest)), rest[2:])
	case KindID:
		return fmt.Sprintf("page %d of ids", be.Uint32(rest))
	case KindHead:
		return fmt.Sprintf("first ids of pages from page %d", uint64(be.Uint32(rest))*idHeadPages)
	case KindPlace:
		return fmt.Sprintf("places of documents from %d", uint64(be.Uint32(rest))*placeChunkDocs)
	case KindStored:
		return fmt.Sprintf("stored documents up to %d", be.Uint32(rest))
	case KindMeta:
		return "meta"
	case KindList:
		if part := be.Uint32(rest[4:]); part >= chunkPart {
			return fmt.Sprintf("list %d, chunk %d", be.Uint32(rest), part-chunkPart)
		}
		return fmt.Sprintf("list %d, directory part %d", be.Uint32(rest), be.Uint32(rest[4:]))
	case KindNorms:
		return fmt.Sprintf("norms of field %s, documents from %d", fieldName(be.Uint16(rest)), uint64(be.Uint32(rest[2:]))*normChunkDocs)
	case KindRank:
		return fmt.Sprintf("rank of documents from %d", uint64(be.Uint32(rest))*rankChunkDocs)
	default:
		return fmt.Sprintf("tiles of field %s", fieldName(be.Uint16(rest)))
	}
}
