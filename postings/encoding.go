package postings

import "fmt"

// The shape of a list. Executors, the GPU and the stored format share these numbers, so changing
// one requires a new format version.
const (
	BlockSize    = 128     // postings in a block
	ExtentBlocks = 32      // blocks in an extent, the second level of skips and the unit of GPU caches
	RowBytes     = 16      // one row: four 32-bit lanes, little endian
	GuardBytes   = 16      // readable bytes after the last row of a chunk
	MaxDoc       = 1 << 31 // documents are numbered 0 to MaxDoc-1
)

// A Kind is a way to write the documents or the frequencies of a block.
type Kind uint8

const (
	Packed Kind = iota // values bit-packed, each in as many bits as the widest takes
	Bitset             // documents only: one bit each, from the document after the previous block's last to the block's last
	Run                // documents only: consecutive ones that end at the block's last, in no rows
	PFor               // 128 values bit-packed in fewer bits than the widest takes, with the cut-off parts stored separately: pfor.go
	Rice               // 128 values as remainders, bit-packed, and quotients in unary: rice.go

	// Interpolative is a codec of whole chunks, not a kind of block: interpolative.go.
	Interpolative
)

// IsCodec reports whether lists can be built with k. Packed, PFor, Rice and Interpolative are
// codecs; every codec also uses Bitset and Run.
func (k Kind) IsCodec() bool { return k <= Interpolative && k != Bitset && k != Run }

func (k Kind) String() string {
	switch k {
	case Packed:
		return "packed"
	case Bitset:
		return "bitset"
	case Run:
		return "run"
	case PFor:
		return "pfor"
	case Rice:
		return "rice"
	case Interpolative:
		return "interpolative"
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// An Encoding states how one block is written. A directory stores it verbatim. The low byte
// describes the documents, the high byte the frequencies:
//
//	documents   00 bbbbbb   packed in b bits (0 to 31)     frequencies   00 bbbbbb   packed in b bits (0 to 32)
//	            01 rrrrrr   a bitset of r rows (1 to 32)                 01 rrrrrr   pfor in r rows (1 to 31)
//	            10 000000   a run                                        10 rrrrrr   rice in r rows (2 to 31)
//	            11 0rrrrr   pfor in r rows (1 to 31)
//	            11 1rrrrr   rice in r rows (2 to 31)
//
// The number of rows is enough to find the next block. pfor and rice keep their other parameters in
// the rows.
type Encoding uint16

// makeEncoding combines kinds and widths. For packed values, the width is the bits per value, where
// 0 means that all are 0. For a bitset, pfor and rice it is the number of rows. For a run it is 0.
func makeEncoding(docs Kind, docWidth int, freqs Kind, freqWidth int) Encoding {
	e := Encoding(docWidth) | Encoding(docs)<<6
	if docs >= PFor {
		e = Encoding(docWidth) | Encoding(docs-PFor)<<5 | 3<<6
	}
	if freqs >= PFor {
		freqWidth |= int(freqs-PFor+1) << 6
	}
	return e | Encoding(freqWidth)<<8
}

// Kind returns the kind of the documents.
func (e Encoding) Kind() Kind {
	if k := Kind(e >> 6 & 3); k < PFor {
		return k
	}
	return PFor + Kind(e>>5&1)
}

// docWidth is the number of bits of a gap in a Packed block, and the number of document rows in a
// block of any other kind.
func (e Encoding) docWidth() int {
	if e>>6&3 == 3 {
		return int(e & 31)
	}
	return int(e & 63)
}

// FreqKind returns the kind of the frequencies: Packed, PFor or Rice.
func (e Encoding) FreqKind() Kind {
	if k := Kind(e >> 14); k > 0 {
		return PFor - 1 + k
	}
	return Packed
}

// freqWidth is the number of bits of a packed frequency minus one, which is 0 when every frequency
// of the block is 1. For other kinds it is the number of frequency rows.
func (e Encoding) freqWidth() int { return int(e >> 8 & 63) }

// packedFreqs reports whether frequencies are packed, and in how many bits.
func (e Encoding) packedFreqs() (width int, ok bool) { return int(e >> 8), e>>8 <= 32 }

// docRows is the number of rows that the documents of a block of n postings take.
func (e Encoding) docRows(n int) int {
	switch e.Kind() {
	case Packed:
		return packedRows(n, e.docWidth())
	case Run:
		return 0
	}
	return e.docWidth()
}

// freqRows is the number of rows that the frequencies of a block of n postings take. They follow
// the rows of the documents.
func (e Encoding) freqRows(n int) int {
	if width, ok := e.packedFreqs(); ok {
		return packedRows(n, width)
	}
	return e.freqWidth()
}

// Rows is the number of rows of a whole block of n postings.
func (e Encoding) Rows(n int) int { return e.docRows(n) + e.freqRows(n) }

// fault returns what is wrong with the encoding of a block of n postings, or "". The last document
// of the block is span after that of the previous block.
func (e Encoding) fault(n int, span uint32) string {
	if int64(span) < int64(n) {
		return fmt.Sprintf("%d postings among %d documents", n, span)
	}
	if fault := e.docFault(n, span); fault != "" {
		return fault
	}
	switch kind, width := e.FreqKind(), e.freqWidth(); {
	case kind == Packed && width > 32:
		return fmt.Sprintf("frequencies of %d bits", width)
	case kind > Rice:
		return "frequencies of an unknown kind"
	case kind != Packed && (n != BlockSize || width == 0 || width > 31):
		return fmt.Sprintf("%d frequencies by %v in %d rows", n, kind, width)
	}
	return ""
}

// docFault is fault for the documents' half of the encoding.
func (e Encoding) docFault(n int, span uint32) string {
	switch kind, width := e.Kind(), e.docWidth(); {
	case kind == Packed && width > 31:
		return fmt.Sprintf("gaps of %d bits", width)
	case kind == Bitset && (width > 32 || width != bitsetRows(span)):
		return fmt.Sprintf("bitset of %d rows over %d documents", width, span)
	case kind == Run && width != 0:
		return fmt.Sprintf("run with width %d", width)
	case kind >= PFor && (n != BlockSize || width == 0):
		return fmt.Sprintf("%d documents by %v in %d rows", n, kind, width)
	}
	return ""
}

func (e Encoding) String() string {
	docs := e.Kind().String()
	if e.Kind() != Run {
		docs = fmt.Sprintf("%s/%d", docs, e.docWidth())
	}
	if e.FreqKind() != Packed {
		return fmt.Sprintf("%s tf %v/%d", docs, e.FreqKind(), e.freqWidth())
	}
	return fmt.Sprintf("%s tf/%d", docs, e.freqWidth())
}

// packedRows is the number of rows that n values of width bits take. Lanes fill
// evenly: lane 0 holds the most values, ceil(n/4).
func packedRows(n, width int) int { return ((n+3)/4*width + 31) / 32 }

// bitsetRows is the number of rows of a bitset over span documents.
func bitsetRows(span uint32) int { return int((uint64(span) + 127) / 128) }
