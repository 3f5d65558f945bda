package device

import (
	"errors"
	"fmt"
)

var (
	// ErrNoDevice: no such GPU, no driver, or no support for GPUs in this build. The error's text
	// says which.
	ErrNoDevice = errors.New("riffle: no GPU device")

	// ErrLost: the device failed, and this process can no longer use it.
	ErrLost = errors.New("riffle: GPU lost")

	// ErrClosed: the Device has been closed.
	ErrClosed = errors.New("riffle: GPU closed")
)

// An Error is a driver call that failed.
type Error struct {
	Device int    // number of the device
	Call   string // function of the driver, such as "cuLaunchKernel"
	Code   int    // CUresult
	Name   string // of the code, such as "CUDA_ERROR_INVALID_VALUE"
}

func (e *Error) Error() string {
	return fmt.Sprintf("gpu %d: %s: %s (%d)", e.Device, e.Call, e.Name, e.Code)
}

// Is makes errors that lose the device match ErrLost.
func (e *Error) Is(target error) bool { return target == ErrLost && sticky(e.Code) }

// sticky reports codes that make the context unusable, or report that it is. The CUDA driver API
// calls it corrupted, and every later call returns the same error.
func sticky(code int) bool {
	switch code {
	case 4, // deinitialized
		46,  // device unavailable
		214, // uncorrectable ECC error
		220, // uncorrectable NVLink error
		700, // illegal address
		702, // launch timeout
		709, // context is destroyed
		710, // assert
		714, // hardware stack error
		715, // illegal instruction
		716, // misaligned address
		717, // invalid address space
		718, // invalid program counter
		719, // launch failed
		721, // contained error; the device must be reset
		802, // system not ready
		999: // unknown
		return true
	}
	return false
}
