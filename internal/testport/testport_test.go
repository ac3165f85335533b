package testport

import (
	"net"
	"strconv"
	"testing"
)

func TestFree(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 100 {
		port := Free(t)
		if n, err := strconv.Atoi(port); err != nil || n < lowest || n > highest || seen[port] {
			t.Errorf("the port %q is not a new one from %d to %d", port, lowest, highest)
		}
		seen[port] = true
	}
	l, err := net.Listen("tcp", FreeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}
