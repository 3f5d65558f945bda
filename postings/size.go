package postings

// Sizes says how many bytes a list takes, part by part. The bits per posting of a part are eight
// times its size over List.Count.
type Sizes struct {
	Docs      int // documents
	Freqs     int // frequencies
	Directory int // the rest: entry, directory, guards and checksums
}

// Add adds o to s.
func (s *Sizes) Add(o Sizes) {
	s.Docs += o.Docs
	s.Freqs += o.Freqs
	s.Directory += o.Directory
}

// SizeBreakdown returns the stored size of a list from Open, without keys and positions. For a view, which is not
// stored, Directory is 0. It reads the directory, and for a list of the codec Interpolative all
// chunks.
func (l *List) SizeBreakdown() (Sizes, error) {
	if l.entry > 0 && l.load == nil {
		s := l.sizes
		s.Directory = l.entry - s.Docs - s.Freqs
		return s, nil
	}
	s := Sizes{Directory: l.entry}
	for b := 0; l.load != nil && b < l.Blocks(); b += partBlocks {
		value, err := l.load.Directory(b / partBlocks)
		if err != nil {
			return s, err
		}
		s.Directory += len(value)
	}
	if l.bits {
		return s, l.addChunks(&s)
	}
	for b, e := range l.Enc {
		n := l.BlockLen(b)
		s.Docs += RowBytes * e.docRows(n)
		s.Freqs += RowBytes * e.freqRows(n)
	}
	if l.load != nil {
		s.Directory += GuardBytes * len(l.chunks)
	}
	return s, nil
}

// addChunks adds the stored size of all chunks.
func (l *List) addChunks(s *Sizes) error {
	var scan Scan
	scan.Reset(l)
	docs, chunk := 0, -1
	for scan.Next() {
		docs += scan.mid - scan.from
		if i := int(l.storedIn()[scan.b/ExtentBlocks]); i != chunk {
			chunk = i
			s.Directory += 4 // checksum
			s.Freqs += len(scan.body)
		}
	}
	s.Docs += docs / 8
	s.Freqs -= docs / 8
	return scan.Err()
}

// StoredBits returns how many bits the postings of block b take where the list is stored, or 0 if
// its directory does not say. Need must have led to the block.
func (l *List) StoredBits(b int) int {
	switch {
	case l.coded != nil:
		return int(l.coded.endOf(b) - l.coded.at[b])
	case l.bits:
		return 0
	case l.entry > 0 && l.load == nil:
		return 8 * (l.sizes.Docs + l.sizes.Freqs)
	}
	return 8 * RowBytes * l.Enc[b].Rows(l.BlockLen(b))
}

// StoredBytes returns how many bytes all postings take where the list is stored, without its
// directory, or 0 if the directory does not say. It reads nothing.
func (l *List) StoredBytes() int64 {
	switch {
	case l.coded != nil:
		sum := int64(0)
		for _, bits := range l.coded.ends {
			sum += (int64(bits) + 7) / 8
		}
		return sum
	case l.bits:
		return 0
	case l.entry > 0 && l.load == nil:
		return int64(l.sizes.Docs + l.sizes.Freqs)
	}
	return RowBytes * int64(l.PayloadRows())
}
