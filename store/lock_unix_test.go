//go:build unix

package store

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// TestReaderOfAnotherUser opens a store as a user who may read everything in the directory and
// write nothing. It notices a writer all the same.
func TestReaderOfAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can become another user")
	}
	top, err := os.MkdirTemp("", "riffle-user") // t.TempDir is closed to others
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(top)
	if err := os.Chmod(top, 0o755); err != nil {
		t.Fatal(err)
	}
	exe, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	bin, dir := filepath.Join(top, "child"), filepath.Join(top, "ix")
	if err := os.WriteFile(bin, exe, 0o755); err != nil {
		t.Fatal(err)
	}
	nobody := func(cmd *exec.Cmd) {
		cmd.Path, cmd.Dir = bin, "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	s := openTemp(t, dir, nil)
	result, end := child(t, "read", dir, nobody)
	end()
	if result != "locked" {
		t.Errorf("beside a writer: %s", result)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, lock := range []os.FileMode{0o644, 0o600} { // of the file LOCK, which the user need not be able to read
		if err := os.Chmod(filepath.Join(dir, lockFile), lock); err != nil {
			t.Fatal(err)
		}
		result, end = child(t, "read", dir, nobody)
		if result != "open" {
			t.Errorf("with nobody else there: %s", result)
		}
		if got := tryChild(t, "write", dir); got != "locked" {
			t.Errorf("a writer beside a reader of another user: %s", got)
		}
		end()
	}
}
