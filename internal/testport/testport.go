// Package testport chooses the ports of servers that a test starts in other
// processes, or starts more than once at the same address.
package testport

import (
	"math/rand/v2"
	"net"
	"strconv"
	"sync"

	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// The ports are below those that operating systems assign to outgoing connections
// (from 32768 on Linux, from 49152 by RFC 6335, section 6): while a server is
// not running, a connection of another program cannot take its port, and a
// client that dials the port cannot connect to itself.
const (
	lowest  = 10000
	highest = 31999
)

var (
	mu    sync.Mutex
	taken = map[int]bool{}
)

// Free returns a TCP port at which nothing listens, for use at the loopback
// address. No later call in this process returns the same port. Many goroutines
// may use it.
func Free(t testwait.Failer) string {
	mu.Lock()
	defer mu.Unlock()
	for range 1000 {
		n := lowest + rand.IntN(highest-lowest+1)
		if taken[n] {
			continue
		}
		port := strconv.Itoa(n)
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", port))
		if err != nil {
			continue
		}
		if err := l.Close(); err != nil {
			t.Fatalf("close the listener at port %s: %v", port, err)
		}
		taken[n] = true
		return port
	}
	t.Fatalf("no port from %d to %d is free", lowest, highest)
	return ""
}

// FreeAddress returns an address of the loopback interface with a port as of
// [Free].
func FreeAddress(t testwait.Failer) string { return net.JoinHostPort("127.0.0.1", Free(t)) }
