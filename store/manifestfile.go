package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/cockroachdb/pebble/v2/record"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// tagComparer begins the first record of Pebble's MANIFEST, the one with all tables, and no other.
const tagComparer = 1

// checkManifestFile makes sure that Pebble's MANIFEST is not two concatenated ones, as a faulty
// copy leaves it. Each record passes its checksum, so Pebble would add the tables of both, and stop
// the process when it meets the same key twice.
func (s *Store) checkManifestFile(names []string) error {
	const marker = "marker.manifest."
	i := len(names) - 1
	for i >= 0 && !strings.HasPrefix(names[i], marker) {
		i--
	}
	name := names[i][strings.LastIndexByte(names[i], '.')+1:]
	f, err := s.fs.Open(s.fs.PathJoin(s.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // Pebble reports it
	} else if err != nil {
		return wrap(err, name)
	}
	r := record.NewReader(f, 0)
	for n := 0; ; n++ {
		edit, err := r.Next()
		if err != nil {
			break // the end, or damage that Pebble finds, too
		}
		var head [binary.MaxVarintLen64]byte
		got, err := io.ReadFull(edit, head[:])
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			break
		}
		if tag, _ := binary.Uvarint(head[:got]); n > 0 && tag == tagComparer {
			return errors.Join(corrupt.At(corrupt.New(-1, "record %d begins another list of all tables: there are two files in one", n), s.fs.PathJoin(s.dir, name)), f.Close())
		}
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("store: %s: %w", name, err)
	}
	return nil
}
