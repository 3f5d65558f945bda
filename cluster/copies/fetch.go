package copies

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"
)

// FetchOptions configure Fetch.
type FetchOptions struct {
	Address string      // of the server
	Ticket  string      // from that server
	TLS     *tls.Config // nil for none; see the package comment

	Retries int           // attempts in a row that bring nothing before the copy has failed; 0 is 10
	Pause   time.Duration // before the next attempt; 0 is half a second

	// Stall is how long a connection may bring nothing before it counts as broken; 0 is 30 seconds. Making
	// the checkpoint and its checksums may take as long as it likes.
	Stall time.Duration
}

// Fetch copies what a ticket stands for into dir, which must not exist. All files are synced, and have the
// checksums of the manifest. When it fails nothing is left.
func Fetch(ctx context.Context, dir string, o FetchOptions) (m *Manifest, err error) {
	if o.TLS == nil && !loopback(o.Address) {
		return nil, fmt.Errorf("copies: without a TLS configuration nothing is fetched from %s", o.Address)
	}
	if o.Retries == 0 {
		o.Retries = 10
	}
	if o.Pause == 0 {
		o.Pause = time.Second / 2
	}
	if o.Stall == 0 {
		o.Stall = 30 * time.Second
	}
	transport := &http.Transport{TLSHandshakeTimeout: 10 * time.Second}
	scheme := "http"
	if o.TLS != nil {
		transport.TLSClientConfig, scheme = o.TLS.Clone(), "https"
	}
	defer transport.CloseIdleConnections()
	f := &fetcher{o: o, client: &http.Client{Transport: transport}, base: scheme + "://" + o.Address + "/v1/" + url.PathEscape(o.Ticket)}
	if err := os.MkdirAll(filepath.Dir(dir), 0o750); err != nil {
		return nil, fmt.Errorf("copies: %w", err)
	}
	if err := os.Mkdir(dir, 0o750); err != nil {
		return nil, fmt.Errorf("copies: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("copies: from %s: %w", o.Address, err), os.RemoveAll(dir))
		}
	}()
	if m, err = f.manifest(ctx); err != nil {
		return nil, err
	}
	folders := map[string]bool{dir: true}
	for _, file := range m.Files {
		path := filepath.Join(dir, filepath.FromSlash(file.Path))
		for folder := filepath.Dir(path); !folders[folder]; folder = filepath.Dir(folder) {
			folders[folder] = true
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			return nil, err
		}
		if err := f.file(ctx, path, file); err != nil {
			return nil, fmt.Errorf("file %s: %w", file.Path, err)
		}
	}
	for folder := range folders {
		if err := SyncFolder(folder); err != nil {
			return nil, err
		}
	}
	f.done(ctx)
	return m, nil
}

type fetcher struct {
	o      FetchOptions
	client *http.Client
	base   string
}

// again calls try until it succeeds, fails for good, or brings nothing too often.
func (f *fetcher) again(ctx context.Context, try func() (progress bool, err error)) error {
	for vain := 0; ; {
		progress, err := try()
		if err == nil || ctx.Err() != nil || errors.Is(err, ErrTicket) || errors.Is(err, errFinal) {
			return err
		}
		if progress {
			vain = 0
		}
		if vain++; vain > f.o.Retries {
			return err
		}
		select {
		case <-time.After(f.o.Pause):
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		}
	}
}

// errFinal says that another attempt would not help.
var errFinal = errors.New("it is of no use to try again")

func (f *fetcher) manifest(ctx context.Context) (m *Manifest, err error) {
	err = f.again(ctx, func() (bool, error) {
		body, err := f.get(ctx, f.base, "")
		if err != nil {
			return false, err
		}
		defer body.Close()
		m = &Manifest{}
		return false, json.NewDecoder(body).Decode(m)
	})
	if err != nil {
		return nil, err
	}
	return m, m.check()
}

// get returns the body of a reply. rest is a range, or empty.
func (f *fetcher) get(ctx context.Context, at, rest string) (io.ReadCloser, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, err
	}
	want := http.StatusOK
	if rest != "" {
		r.Header.Set("Range", rest)
		want = http.StatusPartialContent
	}
	reply, err := f.client.Do(r)
	if err != nil {
		return nil, err
	}
	if reply.StatusCode == want {
		return reply.Body, nil
	}
	defer reply.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(reply.Body, 1<<10)) // more about the error, if there is more
	err = fmt.Errorf("%s: %s", reply.Status, strings.TrimSpace(string(text)))
	switch reply.StatusCode {
	case http.StatusNotFound:
		err = ErrTicket
	case http.StatusInternalServerError:
		err = fmt.Errorf("%w: %w", errFinal, err)
	}
	return nil, err
}

// file fetches a file, from where it ended if an attempt breaks off.
func (f *fetcher) file(ctx context.Context, path string, want File) error {
	at := f.base
	for part := range strings.SplitSeq(want.Path, "/") {
		at += "/" + url.PathEscape(part)
	}
	out, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o640)
	if err != nil {
		return err
	}
	defer out.Close()
	sum, have, damaged := xxhash.New(), int64(0), false
	err = f.again(ctx, func() (bool, error) {
		if have < want.Size {
			n, err := f.piece(ctx, at, have, io.MultiWriter(out, sum))
			if have += n; err != nil {
				return n > 0, err
			}
		}
		if have == want.Size && sumText(sum) == want.Sum {
			return true, nil
		}
		err := fmt.Errorf("%d bytes with checksum %s have come, not %d with %s", have, sumText(sum), want.Size, want.Sum)
		if damaged {
			return false, fmt.Errorf("%w: %w", errFinal, err)
		}
		damaged, have = true, 0
		sum.Reset()
		if err := errors.Join(out.Truncate(0), rewind(out)); err != nil {
			return false, fmt.Errorf("%w: %w", errFinal, err)
		}
		return false, err
	})
	if err != nil {
		return err
	}
	return out.Sync()
}

func rewind(f *os.File) error {
	_, err := f.Seek(0, io.SeekStart)
	return err
}

// piece fetches a file from an offset to its end, and returns how many bytes have come.
func (f *fetcher) piece(ctx context.Context, at string, from int64, to io.Writer) (int64, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stalled := time.AfterFunc(f.o.Stall, func() { cancel(fmt.Errorf("nothing has come for %v", f.o.Stall)) })
	defer stalled.Stop()
	rest := ""
	if from > 0 {
		rest = fmt.Sprintf("bytes=%d-", from)
	}
	body, err := f.get(ctx, at, rest)
	if err != nil {
		return 0, causeOf(ctx, err)
	}
	defer body.Close()
	n := int64(0)
	buffer := make([]byte, 256<<10)
	for {
		got, err := body.Read(buffer)
		stalled.Reset(f.o.Stall)
		if _, failed := to.Write(buffer[:got]); failed != nil {
			return n, fmt.Errorf("%w: %w", errFinal, failed)
		}
		n += int64(got)
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, causeOf(ctx, err)
		}
	}
}

func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// done tells the server that the ticket is no longer needed. Otherwise it finds out by itself.
func (f *fetcher) done(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodDelete, f.base, nil)
	if err != nil {
		return
	}
	if reply, err := f.client.Do(r); err == nil {
		reply.Body.Close()
	}
}

// SyncFolder makes durable which files a folder has, where the file system can.
func SyncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, fs.ErrInvalid) { // some file systems cannot
		return err
	}
	return nil
}
