// Package freeport finds addresses of this machine for servers whose addresses must be known before they listen.
//
// A port that the system chooses does not do: it chooses among the same ones for every connection that a program
// opens, and may have given it away again before the server listens.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync/atomic"
)

// Ports below those that systems choose from: Linux from 32,768 on, others from 49,152 on.
const (
	first = 20_000
	ports = 12_768
)

// tried counts from a number of the program's own, so that programs that start at once try other ports.
var tried atomic.Uint32

func init() { tried.Store(rand.Uint32N(1 << 31)) }

// Address returns an address of this machine, 127.0.0.1 and a port, at which nobody listens. It returns the same one
// again after thousands of others.
func Address() (string, error) {
	var err error
	for range 100 {
		address := fmt.Sprint("127.0.0.1:", first+tried.Add(1)%ports)
		var l net.Listener
		if l, err = net.Listen("tcp", address); err == nil {
			return address, l.Close()
		}
	}
	return "", fmt.Errorf("freeport: none of 100 ports is free: %w", err)
}
