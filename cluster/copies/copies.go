// Package copies carries copies of indexes from one node to another, by HTTP over TLS.
//
// A Server gives out tickets: secrets, each of which stands for one copy. A node asks another one for a
// ticket through NATS, whose permissions say who may, and Fetch takes the ticket to the server. So the
// server knows no names and no keys; who has no ticket gets nothing. A ticket ends when its copy has been
// fetched, or when nobody has used it for a while; its files are removed then.
//
//	GET    /v1/TICKET          the Manifest: which files there are, with their sizes and checksums.
//	                           The first request makes the checkpoint.
//	GET    /v1/TICKET/PATH     a file, or a range of it
//	DELETE /v1/TICKET          the copy is no longer needed
//
// # TLS
//
// Without TLS, tickets and documents could be read on their way. So a Server without a tls.Config listens
// on a loopback address only, and Fetch without one takes only such an address. The configuration is used
// for both ends: Certificates for the server, RootCAs to know other servers, and, if ClientAuth asks for
// them, Certificates again when fetching.
//
// # A copy that breaks off
//
// Fetch goes on where a file ended. A file whose checksum is wrong is fetched again from its beginning.
// When a server forgets the ticket, because it has started again, the copy has failed, and Fetch removes
// what it has.
package copies

import (
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// ManifestVersion is that of manifests.
const ManifestVersion = 1

// A Manifest says of which files a copy consists.
type Manifest struct {
	Version int    `json:"version"`
	Files   []File `json:"files"`
}

// A File is one of a copy.
type File struct {
	Path string `json:"path"` // in the directory, with slashes
	Size int64  `json:"size"` // bytes
	Sum  string `json:"sum"`  // xxHash64 of the content, hexadecimal
}

// Bytes returns the size of all files.
func (m *Manifest) Bytes() (n int64) {
	for i := range m.Files {
		n += m.Files[i].Size
	}
	return n
}

// ErrTicket says that a server does not know a ticket, or no longer.
var ErrTicket = errors.New("copies: the server does not know the ticket")

// Describe returns the manifest of a directory.
func Describe(dir string) (*Manifest, error) {
	m := &Manifest{Version: ManifestVersion}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		f, err := describe(path)
		f.Path = filepath.ToSlash(name)
		m.Files = append(m.Files, f)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("copies: %w", err)
	}
	return m, nil
}

func describe(path string) (f File, err error) {
	r, err := os.Open(path)
	if err != nil {
		return f, err
	}
	defer r.Close()
	sum := xxhash.New()
	f.Size, err = io.Copy(sum, r)
	f.Sum = sumText(sum)
	return f, err
}

func sumText(sum hash.Hash) string { return hex.EncodeToString(sum.Sum(nil)) }

// Verify compares a directory with a manifest.
func (m *Manifest) Verify(dir string) error {
	if err := m.check(); err != nil {
		return err
	}
	have, err := Describe(dir)
	if err != nil {
		return err
	}
	found := map[string]File{}
	for _, f := range have.Files {
		found[f.Path] = f
	}
	for _, want := range m.Files {
		got, ok := found[want.Path]
		switch {
		case !ok:
			return fmt.Errorf("copies: %s lacks file %s", dir, want.Path)
		case got != want:
			return fmt.Errorf("copies: file %s has %d bytes with checksum %s, not %d with %s", filepath.Join(dir, want.Path), got.Size, got.Sum, want.Size, want.Sum)
		}
	}
	return nil
}

func (m *Manifest) check() error {
	if m.Version != ManifestVersion {
		return fmt.Errorf("copies: a manifest of version %d; this program reads version %d", m.Version, ManifestVersion)
	}
	seen := map[string]bool{}
	for _, f := range m.Files {
		if !filepath.IsLocal(f.Path) || strings.Contains(f.Path, `\`) || f.Path == "." || f.Size < 0 || seen[f.Path] {
			return fmt.Errorf("copies: a manifest with file %q of %d bytes", f.Path, f.Size)
		}
		seen[f.Path] = true
	}
	return nil
}

// loopback reports whether an address, HOST:PORT, is of this machine only.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
