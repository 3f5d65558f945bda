package postings

import "fmt"

// The shape of a list. Executors, the GPU and the stored format share these
// numbers, so changing one is a new format version.
const (
	BlockSize    = 128     // postings in a block
	ExtentBlocks = 32      // blocks in an extent, the unit of caching and of the second skip level
	RowBytes     = 16      // one row: four 32-bit lanes, little endian
	GuardBytes   = 16      // readable bytes behind the last row of a chunk
	MaxDoc       = 1 << 31 // documents are numbered 0 to MaxDoc-1
)

// A Kind says how the documents of a block, or its frequencies, are written.
type Kind uint8

const (
	Packed Kind = iota // values bit-packed, all in as many bits as the widest takes
	Bitset             // documents only: one bit each, from the one behind the previous block's last to the block's last
	Run                // documents only: consecutive ones that end at the block's last, in no rows at all
	PFor               // 128 values bit-packed in fewer bits than the widest takes, and what that cuts off apart: pfor.go
	Rice               // 128 values as remainders, bit-packed, and quotients in unary: rice.go

	// Interpolative is a codec of whole chunks, not a kind of block: interpolative.go.
	Interpolative
)

// IsCodec reports whether lists can be built by k: Packed, PFor, Rice and Interpolative are
// codecs, Bitset and Run are what every codec has besides.
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

// An Encoding says how one block is written. A directory stores it as it is. The low
// byte describes the documents, the high byte the frequencies:
//
//	documents   00 bbbbbb   packed in b bits (0 to 31)     frequencies   00 bbbbbb   packed in b bits (0 to 32)
//	            01 rrrrrr   a bitset of r rows (1 to 32)                 01 rrrrrr   pfor in r rows (1 to 31)
//	            10 000000   a run                                        10 rrrrrr   rice in r rows (2 to 31)
//	            11 0rrrrr   pfor in r rows (1 to 31)
//	            11 1rrrrr   rice in r rows (2 to 31)
//
// Rows are all that one must know to find a block. What else pfor and rice need is in them.
type Encoding uint16

// makeEncoding puts an encoding together. Of packed values the width is the bits of one,
// where 0 means that all are 0; of a bitset, pfor and rice it is the number of rows; of a
// run it is 0.
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

// Kind says how the documents are written.
func (e Encoding) Kind() Kind {
	if k := Kind(e >> 6 & 3); k < PFor {
		return k
	}
	return PFor + Kind(e>>5&1)
}

// docWidth is the number of bits of a gap in a Packed block, and the number of
// rows of documents in a block of any other kind.
func (e Encoding) docWidth() int {
	if e>>6&3 == 3 {
		return int(e & 31)
	}
	return int(e & 63)
}

// FreqKind says how the frequencies are written: Packed, PFor or Rice.
func (e Encoding) FreqKind() Kind {
	if k := Kind(e >> 14); k > 0 {
		return PFor - 1 + k
	}
	return Packed
}

// freqWidth is the number of bits of a frequency minus one when frequencies are packed: 0
// when every frequency of the block is 1. When they are not, it is their number of rows.
func (e Encoding) freqWidth() int { return int(e >> 8 & 63) }

// packedFreqs says whether frequencies are packed, and in how many bits.
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

// freqRows is the number of rows that the frequencies of a block of n postings
// take; they follow the rows of the documents.
func (e Encoding) freqRows(n int) int {
	if width, ok := e.packedFreqs(); ok {
		return packedRows(n, width)
	}
	return e.freqWidth()
}

// Rows is the number of rows of a whole block of n postings.
func (e Encoding) Rows(n int) int { return e.docRows(n) + e.freqRows(n) }

// fault says what is wrong with the encoding of a block of n postings whose last
// document lies span behind that of the block before, or "" when nothing is.
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

// docFault is fault for documents.
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
