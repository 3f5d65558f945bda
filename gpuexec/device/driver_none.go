//go:build !(cuda && cgo && linux)

package device

import (
	"fmt"
	"time"
)

// Without the tag cuda, without cgo, or on systems other than Linux there is no driver.
// driverDevices says so, and nothing else is ever called.

type (
	driverContext  struct{}
	driverStream   struct{}
	driverEvent    struct{}
	driverModule   struct{}
	driverFunction struct{}
)

var errNoDriver = fmt.Errorf("%w: riffle was built without the tag cuda, without cgo or not for Linux", ErrNoDevice)

func driverDevices() (int, error)                                  { return 0, errNoDriver }
func driverInfo(int) (Info, error)                                 { return Info{}, errNoDriver }
func driverRetain(int) (driverContext, error)                      { return driverContext{}, errNoDriver }
func driverRelease(int) error                                      { return errNoDriver }
func driverSetCurrent(int, driverContext) error                    { return errNoDriver }
func driverSynchronize(int) error                                  { return errNoDriver }
func driverMemory(int) (free, total int64, err error)              { return 0, 0, errNoDriver }
func driverAlloc(int, int64) (Memory, error)                       { return Memory{}, errNoDriver }
func driverFree(int, Memory) error                                 { return errNoDriver }
func driverPin(int, int64) (Pinned, error)                         { return Pinned{}, errNoDriver }
func driverUnpin(int, Pinned) error                                { return errNoDriver }
func driverStreamCreate(int, int) (driverStream, error)            { return driverStream{}, errNoDriver }
func driverStreamDestroy(int, driverStream) error                  { return errNoDriver }
func driverStreamSynchronize(int, driverStream) error              { return errNoDriver }
func driverEventCreate(int) (driverEvent, error)                   { return driverEvent{}, errNoDriver }
func driverEventDestroy(int, driverEvent) error                    { return errNoDriver }
func driverEventSynchronize(int, driverEvent) error                { return errNoDriver }
func driverReached(int, driverEvent) (bool, error)                 { return false, errNoDriver }
func driverSpin(int, driverEvent, time.Duration) (bool, error)     { return false, errNoDriver }
func driverElapsed(int, driverEvent, driverEvent) (float64, error) { return 0, errNoDriver }
func driverRecord(int, driverEvent, driverStream) error            { return errNoDriver }
func driverAfter(int, driverStream, driverEvent) error             { return errNoDriver }
func driverLoad(int, string) (driverModule, error)                 { return driverModule{}, errNoDriver }
func driverUnload(int, driverModule) error                         { return errNoDriver }
func driverFind(int, driverModule, string) (driverFunction, error) {
	return driverFunction{}, errNoDriver
}
func driverAllowShared(int, driverFunction, int) error                   { return errNoDriver }
func driverPreferShared(int, driverFunction, int) error                  { return errNoDriver }
func driverOccupancy(int, driverFunction, int, int) (int, error)         { return 0, errNoDriver }
func driverKernelInfo(int, driverFunction) (KernelInfo, error)           { return KernelInfo{}, errNoDriver }
func driverToDevice(int, driverStream, Memory, Pinned) error             { return errNoDriver }
func driverToHost(int, driverStream, Pinned, Memory) error               { return errNoDriver }
func driverMove(int, driverStream, Memory, Memory) error                 { return errNoDriver }
func driverFill(int, driverStream, Memory, byte) error                   { return errNoDriver }
func driverLaunch(int, driverStream, driverFunction, Grid, uint64) error { return errNoDriver }
