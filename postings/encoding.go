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

// A Kind says how the documents of a block are written.
type Kind uint8

const (
	Packed Kind = iota // gaps minus one, bit-packed in DocWidth bits each
	Bitset             // one bit a document, from the one behind the previous block's last to the block's last, in DocWidth rows
	Run                // consecutive documents that end at the block's last: no rows at all
)

func (k Kind) String() string {
	switch k {
	case Packed:
		return "packed"
	case Bitset:
		return "bitset"
	case Run:
		return "run"
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// An Encoding says how one block is written. The low byte describes the
// documents (kind in the top two bits, width in the lower six), the high byte is
// the number of bits of a frequency. A directory stores it as it is.
type Encoding uint16

// MakeEncoding puts an encoding together: docWidth is the bits of a gap for
// Packed (0 to 31), the rows for Bitset (1 to 32) and 0 for Run; freqWidth is the
// bits of a frequency minus one (0 to 32), where 0 means that all are 1.
func MakeEncoding(k Kind, docWidth, freqWidth int) Encoding {
	return Encoding(k)<<6 | Encoding(docWidth) | Encoding(freqWidth)<<8
}

// Kind says how the documents are written.
func (e Encoding) Kind() Kind { return Kind(e >> 6 & 3) }

// DocWidth is the number of bits of a gap in a Packed block, and the number of
// rows of a Bitset block.
func (e Encoding) DocWidth() int { return int(e & 63) }

// FreqWidth is the number of bits of a frequency minus one; 0 when every
// frequency of the block is 1.
func (e Encoding) FreqWidth() int { return int(e >> 8) }

// DocRows is the number of rows that the documents of a block of n postings take.
func (e Encoding) DocRows(n int) int {
	switch e.Kind() {
	case Packed:
		return packedRows(n, e.DocWidth())
	case Bitset:
		return e.DocWidth()
	}
	return 0
}

// FreqRows is the number of rows that the frequencies of a block of n postings
// take; they follow the rows of the documents.
func (e Encoding) FreqRows(n int) int { return packedRows(n, e.FreqWidth()) }

// Rows is the number of rows of a whole block of n postings.
func (e Encoding) Rows(n int) int { return e.DocRows(n) + e.FreqRows(n) }

// fault says what is wrong with the encoding of a block of n postings whose last
// document lies span behind that of the block before, or "" when nothing is.
func (e Encoding) fault(n int, span uint32) string {
	switch {
	case e.FreqWidth() > 32:
		return fmt.Sprintf("frequencies of %d bits", e.FreqWidth())
	case e.Kind() == Packed && e.DocWidth() > 31:
		return fmt.Sprintf("gaps of %d bits", e.DocWidth())
	case e.Kind() == Bitset && (e.DocWidth() > 32 || e.DocWidth() != bitsetRows(span)):
		return fmt.Sprintf("bitset of %d rows over %d documents", e.DocWidth(), span)
	case e.Kind() == Run && e.DocWidth() != 0:
		return fmt.Sprintf("run with width %d", e.DocWidth())
	case e.Kind() > Run:
		return e.Kind().String()
	case int64(span) < int64(n):
		return fmt.Sprintf("%d postings among %d documents", n, span)
	}
	return ""
}

func (e Encoding) String() string {
	switch e.Kind() {
	case Packed:
		return fmt.Sprintf("packed/%d tf/%d", e.DocWidth(), e.FreqWidth())
	case Bitset:
		return fmt.Sprintf("bitset/%d tf/%d", e.DocWidth(), e.FreqWidth())
	}
	return fmt.Sprintf("%v tf/%d", e.Kind(), e.FreqWidth())
}

// packedRows is the number of rows that n values of width bits take. Lanes fill
// evenly: lane 0 holds the most values, ceil(n/4).
func packedRows(n, width int) int { return ((n+3)/4*width + 31) / 32 }

// bitsetRows is the number of rows of a bitset over span documents.
func bitsetRows(span uint32) int { return int((uint64(span) + 127) / 128) }
