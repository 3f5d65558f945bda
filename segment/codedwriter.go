package segment

import (
	"slices"

	"github.com/klauspost/compress/zstd"

	"github.com/riffle-search/riffle/internal/onpair"
)

// codeAlways, as MergeOptions.CodedBytes, is for tests: documents are coded even if blocks are smaller.
const codeAlways = 1

const (
	// defaultCodedBytes is how many bytes of stored documents a segment must have for them to be
	// coded. Coding takes twice the time of Zstandard. So merges of few documents, which will soon be
	// merged again, leave them in blocks, and so do bulks.
	defaultCodedBytes = 16 << 20

	// maxSampleBytes bounds the sample that the table is made from: enough to fill a table.
	maxSampleBytes = 2 << 20

	// sampleShare bounds the sample by the documents: making the table takes some four times as long
	// as coding the sample.
	sampleShare = 8

	sampleUnit      = 16       // consecutive documents
	sampleDocBytes  = 64 << 10 // of one document
	minSampleUnits  = 64
	heldOutUnits    = 8         // one unit of as many is not in the sample: it tells how well the table does
	maxHeldOutBytes = 256 << 10 // of these
)

// A codedSample decides whether stored documents are coded, and makes the table. It gets units of
// consecutive documents.
type codedSample struct {
	pace    pace
	trainer *onpair.Trainer
	units   int
	bytes   int // in the sample
	heldOut [][]byte
	held    int // bytes of these
}

// add adds a unit, whose bytes it does not keep.
func (s *codedSample) add(unit [][]byte) {
	if s.trainer == nil {
		s.trainer = onpair.NewTrainer()
	}
	s.units++
	out := s.units%heldOutUnits == 0 && s.held < maxHeldOutBytes
	for _, doc := range unit {
		doc = doc[:min(len(doc), sampleDocBytes)]
		if out {
			s.heldOut, s.held = append(s.heldOut, slices.Clone(doc)), s.held+len(doc)
			continue
		}
		s.trainer.Add(doc)
		s.bytes += len(doc)
		s.pace.add(paceTerm + len(doc)*trainPace)
	}
}

// trainPace is the time of a byte of the sample, in that of postings.
const trainPace = 8

// encoder returns the encoder, or nil if blocks that the store compresses are clearly smaller, unless
// it is wanted always. They are for documents that have long parts in common with their neighbors.
func (s *codedSample) encoder(always bool) *onpair.Encoder {
	if s.trainer == nil {
		return nil
	}
	e := s.trainer.Encoder()
	if always {
		return e
	}
	var blocks, block, codes []byte
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(storedBlockBytes))
	if err != nil {
		panic("BUG: segment: " + err.Error()) // the options are constants
	}
	defer z.Close()
	coded, packed := 0, 0
	for i, doc := range s.heldOut {
		codes = e.Append(codes[:0], doc)
		coded += len(codes)
		block = append(block, doc...)
		if len(block) >= storedBlockBytes || i == len(s.heldOut)-1 {
			blocks = z.EncodeAll(block, blocks[:0])
			packed, block = packed+len(blocks), block[:0]
		}
		s.pace.add(paceTerm + len(doc))
	}
	if coded > packed+packed/10 {
		return nil
	}
	return e
}

// sampleStored makes the encoder for the stored documents of a merge; nil if they are not coded.
func (m *merger) sampleStored() (*onpair.Encoder, error) {
	if m.opts.CodedBytes < 0 {
		return nil, nil
	}
	if _, ok := m.sink.sink.(TableSink); !ok || m.docs == 0 {
		return nil, nil
	}
	s := codedSample{pace: pace{cores: m.opts.Cores}}
	total, units := 0, uint64(0)
	for _, numbers := range m.maps {
		total += len(numbers)
		units += uint64(chunksOf(uint32(len(numbers)), sampleUnit))
	}
	read, docs := 0, 0 // all bytes of the documents that were read
	var unit [][]byte
	for n := range units {
		if err := m.ctx.Err(); err != nil {
			return nil, err
		}
		if docs > 0 {
			all := int(float64(read) / float64(docs) * float64(m.docs))
			if s.bytes >= maxSampleBytes || s.units >= minSampleUnits && s.bytes >= all/sampleShare {
				break
			}
		}
		// Units are spread over all: multiples of a prime, modulo their number, are each unit once.
		input, first := m.unitAt(n * 2654435761 % units)
		unit = unit[:0]
		numbers := m.maps[input]
		for old := first; old < min(first+sampleUnit, len(numbers)); old++ {
			if numbers[old] == NoDoc {
				continue
			}
			doc, err := m.inputs[input].storedOf(uint32(old))
			if err != nil {
				return nil, err
			}
			unit = append(unit, doc)
			read, docs = read+len(doc), docs+1
		}
		s.add(unit)
	}
	if docs == 0 || int(float64(read)/float64(docs)*float64(m.docs)) < m.opts.CodedBytes {
		return nil, nil
	}
	return s.encoder(m.opts.CodedBytes == codeAlways), nil
}

// unitAt returns where unit n of the inputs begins.
func (m *merger) unitAt(n uint64) (input, first int) {
	for ; ; input++ {
		of := uint64(chunksOf(uint32(len(m.maps[input])), sampleUnit))
		if n < of {
			return input, int(n) * sampleUnit
		}
		n -= of
	}
}

// A codedRunWriter makes runs of blocks of stored documents.
type codedRunWriter struct {
	encoder *onpair.Encoder
	ends    []int
	codes   []byte
	value   []byte
}

// run returns the sealed run of a block, valid until the next call.
func (w *codedRunWriter) run(b *storedBlock) []byte {
	w.ends, w.codes = w.ends[:0], w.codes[:0]
	for i := range b.ends {
		doc, _ := b.doc(b.first + uint32(i))
		w.codes = w.encoder.Append(w.codes, doc)
		w.ends = append(w.ends, len(w.codes))
	}
	w.value = endSealed(appendCodedRun(startSealed(w.value), w.ends, w.codes))
	return w.value
}
