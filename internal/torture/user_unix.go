//go:build unix

package main

import (
	"os"
	"os/exec"
	"syscall"
)

// nobody is a user who owns nothing.
const nobody = 65534

// mayBeOthers reports whether this process may start processes of another user.
func mayBeOthers() bool { return os.Getuid() == 0 }

// asOtherUser makes a command run as nobody.
func asOtherUser(cmd *exec.Cmd) {
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
}
