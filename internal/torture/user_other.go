//go:build !unix

package main

import "os/exec"

// mayBeOthers reports whether this process may start processes of another user.
func mayBeOthers() bool { return false }

// asOtherUser makes a command run as another user.
func asOtherUser(*exec.Cmd) {}
