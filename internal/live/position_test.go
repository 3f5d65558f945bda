package live

import (
	"errors"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/internal/format"
)

// TestInfo prints the bytes of the index info, and distinguishes damage from a later version.
func TestInfo(t *testing.T) {
	long := strings.Repeat("p", document.MaxPositionBytes)
	for position, want := range map[string]string{"": "", "p7": "\x01\x02p7", long: "\x01\x80\x08" + long} {
		info := encodeInfo(position, false)
		if string(info) != want {
			t.Errorf("position %q is kept as %q, want %q", position, info, want)
		}
		if got, err := decodeInfo(info); err != nil || got != position {
			t.Errorf("read back: %q, %v, want %q", got, err, position)
		}
		info = encodeInfo(position, true)
		if got, err := decodeInfo(info); err != nil || got != position || info[0] != infoOfUpdates {
			t.Errorf("with updates %q is read back as %q, %v, want %q", info, got, err, position)
		}
	}
	for _, data := range []string{"\x00\x01p", "\x01", "\x01\x00", "\x01\x02p", "\x01\x01pp", "\x80", "\x01\x80", "\x01\x81\x08" + long + "p"} {
		if _, err := decodeInfo([]byte(data)); !errors.Is(err, corrupt.Err) {
			t.Errorf("%.10q: %v, want ErrCorrupt", data, err)
		}
	}
	if _, err := decodeInfo([]byte("\x03anything")); !errors.Is(err, format.Err) {
		t.Errorf("a later version: %v, want ErrFormat", err)
	}
}

// FuzzDecodeInfo decodes arbitrary bytes as index info. Valid info is encoded again with the same
// meaning.
func FuzzDecodeInfo(f *testing.F) {
	f.Add([]byte{})
	f.Add(encodeInfo("p7", false))
	f.Add(encodeInfo("", true))
	f.Add([]byte("\x03anything"))
	f.Fuzz(func(t *testing.T, data []byte) {
		position, err := decodeInfo(data)
		if err != nil {
			if errors.Is(err, corrupt.Err) == errors.Is(err, format.Err) {
				t.Fatalf("neither corruption nor another format, or both: %v", err)
			}
			return
		}
		if again, err := decodeInfo(encodeInfo(position, len(data) > 0 && data[0] == infoOfUpdates)); err != nil || again != position {
			t.Fatalf("written again: %q, %v, want %q", again, err, position)
		}
	})
}
