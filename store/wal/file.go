package wal

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Files are named by their number, with tempSuffix until they are complete.
const (
	fileSuffix = ".log"
	tempSuffix = ".tmp"
)

func fileName(number uint64) string { return fmt.Sprintf("%08d%s", number, fileSuffix) }

// fileNumber returns the number in the name of a file of the log.
func fileNumber(name string) (n uint64, ok bool) {
	base, ok := strings.CutSuffix(name, fileSuffix)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(base, 10, 64)
	return n, err == nil && fileName(n) == name
}

// A folder is the directory of a log.
type folder struct {
	fs  vfs.FS
	dir string
}

func (d folder) path(number uint64) string { return d.fs.PathJoin(d.dir, fileName(number)) }

// numbers lists the files of the log in their order, and temporary files that a crash left.
func (d folder) numbers() (numbers []uint64, temps []string, err error) {
	names, err := d.fs.List(d.dir)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		if n, ok := fileNumber(name); ok {
			numbers = append(numbers, n)
		} else if base, ok := strings.CutSuffix(name, tempSuffix); ok {
			if _, ok := fileNumber(base); ok {
				temps = append(temps, name)
			}
		}
	}
	slices.Sort(numbers)
	return numbers, temps, nil
}

// create makes a durable file with the contents that fill writes. Until then it has a temporary
// name, so that a crash never leaves half a header.
func (d folder) create(number uint64, fill func(io.Writer) error) error {
	temp := d.path(number) + tempSuffix
	f, err := d.fs.Create(temp, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	err = fill(f)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, d.fs.Remove(temp))
	}
	if err := d.fs.Rename(temp, d.path(number)); err != nil {
		return err
	}
	return d.sync()
}

// sync makes the names in the folder durable.
func (d folder) sync() error {
	f, err := d.fs.OpenDir(d.dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
