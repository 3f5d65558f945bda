package main

import "testing"

func TestByteSize(t *testing.T) {
	for _, c := range []struct {
		text, want string // empty: refused
	}{
		{"0", "0"}, {"1000", "1000"}, {"1024", "1KiB"}, {"64K", "64KiB"}, {"64kb", "64KiB"}, {"64KiB", "64KiB"},
		{"1024M", "1GiB"}, {"3g", "3GiB"}, {"5b", "5"},
		{"", ""}, {"K", ""}, {"-1", ""}, {"1.5G", ""}, {"1T", ""}, {"1kk", ""}, {"9999999999G", ""}, {"1 M", ""},
	} {
		var s byteSize
		err := s.Set(c.text)
		if (err != nil) != (c.want == "") || err == nil && s.String() != c.want {
			t.Errorf("%q is %s, %v; want %q", c.text, s.String(), err, c.want)
		}
	}
}
