package freeport

import (
	"net"
	"testing"
)

func TestAddress(t *testing.T) {
	seen := map[string]bool{}
	for range 200 {
		address, err := Address()
		if err != nil {
			t.Fatal(err)
		}
		if seen[address] {
			t.Fatalf("%s comes twice", address)
		}
		seen[address] = true
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if port := l.Addr().(*net.TCPAddr).Port; port < first || port >= first+ports {
			t.Errorf("port %d", port)
		}
	}
}
