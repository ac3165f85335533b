package switchboard_test

import (
	"context"
	"io"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

// sink swallows what it gets, or sends forever with the argument "source".
func sink(ctx context.Context, r *tunnel.Request) {
	s, err := r.Accept()
	if err != nil {
		return
	}
	if r.Arg != "source" {
		_, _ = io.Copy(io.Discard, s)
		return
	}
	b := make([]byte, 64<<10)
	for err == nil {
		_, err = s.Write(b)
	}
}

// bench returns a world whose agent swallows and sends, and a tunnel to it.
func bench(b *testing.B) (*world, *tunnel.Conn) { return benchIn(b, newWorld(b)) }

// benchIn is bench in a world.
func benchIn(b *testing.B, w *world) (*world, *tunnel.Conn) {

	w.listen(func(c *tunnel.ListenConfig) {
		c.Handle = func(ctx context.Context, r *tunnel.Request) {
			if r.Kind == tunnel.KindSSH {
				echo(ctx, r)
			} else {
				sink(ctx, r)
			}
		}
	})
	return w, w.dial(tunnel.KindSSH, tunnel.KindTCP)
}

const block = 1 << 20

func BenchmarkUp(b *testing.B) {
	w, c := bench(b)
	streams(b, w, c, "sink")
}

func BenchmarkDown(b *testing.B) {
	w, c := bench(b)
	streams(b, w, c, "source")
}

// streams moves blocks to a sink or from a source, and says what each costs: the
// processor time of both ends and what is between, packets that go the other way,
// and packets that were lost. The time is told also where the machine is busy.
func streams(b *testing.B, w *world, c *tunnel.Conn, way string) {
	s, err := c.Open(b.Context(), tunnel.KindTCP, way)
	ok(b, err)
	p := make([]byte, block)
	b.SetBytes(block)
	before, started := []tunnel.Stats{c.Stats(), w.agent.Stats()}, processorTime()
	for b.Loop() {
		if way == "sink" {
			_, err = s.Write(p)
		} else {
			_, err = io.ReadFull(s, p)
		}
		ok(b, err)
	}
	took, ends := processorTime()-started, []tunnel.Stats{c.Stats(), w.agent.Stats()}
	if way == "source" {
		slices.Reverse(before)
		slices.Reverse(ends)
	}
	n := float64(b.N)
	b.ReportMetric(float64(took.Microseconds())/n/block*1e3, "cpu-s/GB")
	b.ReportMetric(float64(ends[1].TxPackets-before[1].TxPackets)/n, "back/op")
	b.ReportMetric(float64(ends[0].LostPackets-before[0].LostPackets)/n, "lost/op")
}

// processorTime is what this process has used.
func processorTime() time.Duration {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r) // it knows itself
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

func BenchmarkEcho(b *testing.B) {
	_, c := bench(b)
	echoes(b, c)
}

// BenchmarkEchoBesideBulk types while a transfer runs in the same tunnel.
func BenchmarkEchoBesideBulk(b *testing.B) {
	_, c := bench(b)
	s, err := c.Open(b.Context(), tunnel.KindTCP, "source")
	ok(b, err)
	go func() { _, _ = io.Copy(io.Discard, s) }()
	echoes(b, c)
}

func echoes(b *testing.B, c *tunnel.Conn) {
	s, err := c.Open(b.Context(), tunnel.KindSSH, "")
	ok(b, err)
	p := make([]byte, 32)
	var took []time.Duration
	for b.Loop() {
		start := time.Now()
		_, err := s.Write(p)
		ok(b, err)
		_, err = io.ReadFull(s, p)
		ok(b, err)
		took = append(took, time.Since(start))
	}
	percentiles(b, took)
}

func percentiles(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

// BenchmarkDial opens a whole tunnel: WebSocket, handshake, certificate.
func BenchmarkDial(b *testing.B) {
	w, _ := bench(b)
	var took []time.Duration
	for b.Loop() {
		c := w.config(w.grant(tunnel.KindSSH))
		start := time.Now()
		conn, err := tunnel.Dial(b.Context(), c)
		ok(b, err)
		took = append(took, time.Since(start))
		ok(b, conn.Close())
	}
	percentiles(b, took)
}

// BenchmarkIdleTunnel opens many tunnels through one relay and says what each
// costs in memory while nothing goes through it: both ends, the relay and
// their WebSockets, for all live in this process.
func BenchmarkIdleTunnel(b *testing.B) {
	const tunnels = 500
	w, _ := bench(b)
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapInuse + m.StackInuse
	}
	for b.Loop() {
		before := heap()
		conns := make([]*tunnel.Conn, tunnels)
		for i := range conns {
			c, err := tunnel.Dial(b.Context(), w.config(w.grant(tunnel.KindSSH)))
			ok(b, err)
			s, err := c.Open(b.Context(), tunnel.KindSSH, "")
			ok(b, err)
			talk(b, s, "hello")
			ok(b, s.Close())
			conns[i] = c
		}
		b.ReportMetric(float64(heap()-before)/tunnels/1024, "KiB/tunnel")
		for _, c := range conns {
			ok(b, c.Close())
		}
	}
}
