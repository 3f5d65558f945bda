package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/riffle-search/riffle/bench/protocol"
)

// A process is an engine that runs.
type process struct {
	name string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
}

func start(name string, p program, env []string) (*process, error) {
	cmd := exec.Command(p.args[0], p.args[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = new(notes)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &process{name: name, cmd: cmd, in: in, out: bufio.NewReaderSize(out, 1<<20)}, nil
}

// notes keeps what a process says on standard error, for when it fails.
type notes struct {
	mu   sync.Mutex
	text []byte
}

func (n *notes) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.text = append(n.text, p...)
	return len(p), nil
}

func (n *notes) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return string(n.text)
}

// call sends a request and waits for its reply.
func (p *process) call(req protocol.Request) (protocol.Reply, error) {
	var reply protocol.Reply
	line, err := json.Marshal(req)
	if err != nil {
		return reply, err
	}
	if _, err = p.in.Write(append(line, '\n')); err == nil {
		line, err = p.out.ReadBytes('\n')
	}
	if err == nil {
		err = json.Unmarshal(line, &reply)
	}
	if err == nil && reply.Error != "" {
		err = errors.New(reply.Error)
	}
	if err == io.EOF {
		err = fmt.Errorf("the process ended: %v", p.cmd.Wait())
	}
	if err != nil {
		return reply, fmt.Errorf("%s: %s: %w\n%s", p.name, req.Op, err, p.cmd.Stderr)
	}
	return reply, nil
}

// stop ends the process and waits for it.
func (p *process) stop() error {
	p.in.Close()
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("%s: %w\n%s", p.name, err, p.cmd.Stderr)
	}
	return nil
}

// A built index, as it is remembered beside its folder.
type built struct {
	Fingerprint string  // of the program, its options and the documents
	Docs        int     // documents
	Seconds     float64 // from the request until everything is on disk and merged
	CPUSeconds  float64 // of the whole process, user and system
	PeakBytes   int64   // resident
	Bytes       int64   // of the index's files, when the engine has closed it
}

// best takes the shorter times and the least memory of two builds of one index.
func (b built) best(other built) built {
	b.Seconds = min(b.Seconds, other.Seconds)
	b.CPUSeconds = min(b.CPUSeconds, other.CPUSeconds)
	b.PeakBytes = min(b.PeakBytes, other.PeakBytes)
	return b
}

// buildIndex returns the folder of an engine's index, which it builds unless one
// is there that the same program made of the same documents.
func buildIndex(e engine, p program, c corpus, cache string, again bool) (dir string, b built, err error) {
	parent := filepath.Join(cache, "indexes", c.hash)
	dir = filepath.Join(parent, e.index)
	note := dir + ".json"
	fingerprint, err := fingerprint(p, e.build, c)
	if err != nil {
		return dir, b, err
	}
	if text, err := os.ReadFile(note); err == nil && !again {
		if json.Unmarshal(text, &b) == nil && b.Fingerprint == fingerprint {
			return dir, b, nil
		}
	}
	if err := errors.Join(os.RemoveAll(note), os.RemoveAll(dir), os.MkdirAll(parent, 0o755)); err != nil {
		return dir, b, err
	}
	if b, err = build(e, p, c, dir); err != nil {
		return dir, b, err
	}
	b.Fingerprint = fingerprint
	text, err := json.Marshal(b)
	if err != nil {
		return dir, b, err
	}
	return dir, b, os.WriteFile(note, text, 0o644)
}

func build(e engine, p program, c corpus, dir string) (b built, err error) {
	proc, err := start(e.name, p, nil)
	if err != nil {
		return b, err
	}
	began := time.Now()
	reply, err := proc.call(protocol.Request{Op: "build", Docs: c.path, Dir: dir, Options: e.build})
	b.Docs, b.Seconds = reply.Docs, time.Since(began).Seconds()
	b.PeakBytes = peak(proc.cmd.Process.Pid)
	if err := errors.Join(err, proc.stop()); err != nil {
		return b, err
	}
	if b.Docs != c.docs {
		return b, fmt.Errorf("%s indexed %d documents of %d", e.name, b.Docs, c.docs)
	}
	state := proc.cmd.ProcessState
	b.CPUSeconds = (state.UserTime() + state.SystemTime()).Seconds()
	b.Bytes, err = folderBytes(dir)
	return b, err
}

// peak returns the most memory that a process has had resident, where the system tells. (What
// it tells when a process has ended counts this one's memory, too, from before the program was begun.)
func peak(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, line, _ := strings.Cut(string(text), "\nVmHWM:")
	var kib int64
	if _, err := fmt.Sscan(line, &kib); err != nil {
		return 0
	}
	return kib << 10
}

func folderBytes(dir string) (n int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			n += info.Size()
		}
		return err
	})
	return n, err
}

func fingerprint(p program, options map[string]string, c corpus) (string, error) {
	sum := sha256.New()
	fmt.Fprintln(sum, c.hash, c.docs, options, p.args) // maps print in the order of their keys
	for _, file := range p.files {
		f, err := os.Open(file)
		if err != nil {
			return "", err
		}
		_, err = io.Copy(sum, f)
		f.Close()
		if err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
