package telemetry

import (
	"bytes"
	"sync"
)

// recentLimit bounds the lines of a Recent, in bytes.
const recentLimit = 2 << 20

// Recent is a writer that keeps the newest log lines in memory, at most 2 MiB.
// Each call of Write is one line. The zero value is ready to use. It is safe
// for concurrent use.
type Recent struct {
	mu    sync.Mutex
	lines [][]byte // oldest first
	size  int
}

// Write stores one line and drops the oldest ones that no longer fit. It never
// fails.
func (r *Recent) Write(p []byte) (int, error) {
	line := bytes.Clone(p[:min(len(p), recentLimit/16)])
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines, r.size = append(r.lines, line), r.size+len(line)
	drop := 0
	for r.size > recentLimit {
		r.size -= len(r.lines[drop])
		r.lines[drop] = nil
		drop++
	}
	r.lines = r.lines[drop:]
	return len(p), nil
}

// Bytes returns the stored lines, oldest first.
func (r *Recent) Bytes() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return bytes.Join(r.lines, nil)
}
