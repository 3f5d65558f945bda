package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A byteSize is the value of a flag that takes a number of bytes: 65536, 64K,
// 64KB and 64KiB are the same.
type byteSize int64

// String returns the size with the largest unit that leaves a whole number.
func (s *byteSize) String() string {
	n, unit := int64(*s), ""
	for _, u := range []string{"KiB", "MiB", "GiB"} {
		if n == 0 || n%1024 != 0 {
			break
		}
		n, unit = n/1024, u
	}
	return strconv.FormatInt(n, 10) + unit
}

// Set reads a size.
func (s *byteSize) Set(text string) error {
	digits := strings.TrimRight(strings.ToLower(text), "kmgib")
	shift, ok := map[string]int{"": 0, "b": 0, "k": 10, "kb": 10, "kib": 10, "m": 20, "mb": 20, "mib": 20, "g": 30, "gb": 30, "gib": 30}[strings.ToLower(text[len(digits):])]
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || !ok || n < 0 || n > math.MaxInt64>>shift {
		return fmt.Errorf("%q is not a size (want digits and, perhaps, K, M or G)", text)
	}
	*s = byteSize(n << shift)
	return nil
}

// Type returns what help texts show for the value.
func (s *byteSize) Type() string { return "size" }
