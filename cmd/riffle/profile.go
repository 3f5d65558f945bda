package main

import (
	"errors"
	"os"
	"runtime"
	"runtime/pprof"

	"github.com/spf13/cobra"
)

// profileFlags declares --cpuprofile and --memprofile for every command. Help texts omit them: they
// are for work on riffle itself.
func profileFlags(root *cobra.Command) {
	f := root.PersistentFlags()
	f.String("cpuprofile", "", "write a CPU profile of the command to this file")
	f.String("memprofile", "", "write a profile of all allocations to this file")
	f.MarkHidden("cpuprofile")
	f.MarkHidden("memprofile")
}

// profiled runs a command, with the profiles that its flags request.
func profiled(c *cobra.Command, run func() error) (err error) {
	cpu, _ := c.Flags().GetString("cpuprofile")
	mem, _ := c.Flags().GetString("memprofile")
	if cpu != "" {
		f, err := os.Create(cpu)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	if mem != "" {
		defer func() { err = errors.Join(err, writeAllocs(mem)) }()
	}
	return run()
}

func writeAllocs(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	runtime.GC() // brings the profile up to date
	return errors.Join(pprof.Lookup("allocs").WriteTo(f, 0), f.Close())
}
