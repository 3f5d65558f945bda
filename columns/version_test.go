package columns

import (
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"testing"
)

// TestVersion1 reads columns that a build wrote when directories had version 1, and compares what is in them.
func TestVersion1(t *testing.T) {
	f, err := os.Open("testdata/version1.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 16<<20)
	var name, want string
	stored, read := store{}, 0
	compare := func() {
		if name == "" {
			return
		}
		read++
		if v := stored[DirectoryPart][0]; v != 1 {
			t.Errorf("%s: version %d", name, v)
		}
		if got := digest(t, open(t, stored)); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	for lines.Scan() {
		var part uint32
		var text string
		if n, _ := fmt.Sscanf(lines.Text(), "part %d %s", &part, &text); n == 2 {
			if stored[part], err = hex.DecodeString(text); err != nil {
				t.Fatal(err)
			}
			continue
		}
		compare()
		stored, name = store{}, lines.Text()
		space := len(name) - 17
		name, want = name[:space], name[space+1:]
	}
	compare()
	if lines.Err() != nil || read < 40 {
		t.Errorf("%d columns, %v", read, lines.Err())
	}
}

// digest returns a hash of all keys by document, and of all terms, of a column that is sound.
func digest(t *testing.T, c *Column) string {
	t.Helper()
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	for doc := range uint32(c.SegmentDocs()) {
		keys, err := c.Append(nil, doc)
		if err != nil {
			t.Fatal(err)
		}
		binary.Write(sum, binary.LittleEndian, append(keys, uint64(len(keys))))
	}
	if d := c.Dictionary(); d != nil {
		err := d.Each(0, d.Len(), func(_ int, term []byte) error {
			_, err := fmt.Fprintf(sum, "%q", term)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}
