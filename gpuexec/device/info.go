package device

import "fmt"

// Info describes a device. Sizes are in bytes.
type Info struct {
	Number             int
	Name               string
	Memory             int64
	Multiprocessors    int
	SharedPerBlock     int // the most that a block may have, after Queue.AllowShared
	SharedPerProcessor int
	L2                 int
	Major, Minor       int // compute capability
}

func (i Info) String() string {
	return fmt.Sprintf("gpu %d: %s, %.1f GiB, %d multiprocessors, compute capability %d.%d",
		i.Number, i.Name, float64(i.Memory)/(1<<30), i.Multiprocessors, i.Major, i.Minor)
}

// leastMajor is the major compute capability that the kernels are compiled for.
const leastMajor = 8

// List returns the devices of the machine. When there are none its error is ErrNoDevice.
func List() ([]Info, error) {
	n, err := driverDevices()
	if err != nil {
		return nil, err
	}
	list := make([]Info, n)
	for i := range list {
		if list[i], err = driverInfo(i); err != nil {
			return nil, err
		}
	}
	return list, nil
}
