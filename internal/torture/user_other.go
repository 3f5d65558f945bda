//go:build !unix

package main

import "os/exec"

// mayBeOthers reports whether this process may start others for another user.
func mayBeOthers() bool { return false }

// asOtherUser has a command run as another user.
func asOtherUser(*exec.Cmd) {}
