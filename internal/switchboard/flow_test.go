package switchboard_test

import (
	"bytes"
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

// TestFlows sends datagrams of all sizes through several flows to a UDP echo.
func TestFlows(t *testing.T) {
	udp, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	ok(t, err)
	defer udp.Close()
	go func() {
		b := make([]byte, 65536)
		for {
			n, from, err := udp.ReadFromUDP(b)
			if err != nil {
				return
			}
			_, _ = udp.WriteToUDP(b[:n], from)
		}
	}()
	w := directWorld(t)
	w.listen(func(c *tunnel.ListenConfig) {
		c.Handle = func(_ context.Context, r *tunnel.Request) {
			socket, err := net.Dial("udp", r.Arg)
			if err != nil {
				r.Reject(err)
				return
			}
			flow, err := r.AcceptUDP()
			if err == nil {
				flow.Carry(socket, func() {})
			}
		}
	})
	c := w.dial(tunnel.KindUDP)
	var wait sync.WaitGroup
	for n := range 4 {
		flow, err := c.OpenUDP(t.Context(), udp.LocalAddr().String())
		ok(t, err)
		wait.Go(func() {
			defer flow.Close()
			for _, size := range []int{0, 1, 1000, 1200, 1300, 9000, 60000} {
				want := bytes.Repeat([]byte{byte('a' + n)}, size)
				if err := flow.Send(want); err != nil {
					t.Error(err)
				}
				got, err := flow.Receive()
				if err != nil || !bytes.Equal(got, want) {
					t.Errorf("flow %d: %d bytes came back as %d, %v", n, size, len(got), err)
				}
			}
		})
	}
	wait.Wait()
	if _, err := w.dial(tunnel.KindSSH).OpenUDP(t.Context(), "localhost:1"); !codersdk.Is(err, codersdk.CodePrecondition) {
		t.Errorf("without the action: %v", err)
	}
}

// TestSpeed measures for a moment, in both directions.
func TestSpeed(t *testing.T) {
	w := newWorld(t)
	w.listen()
	c := w.dial(tunnel.KindSSH)
	for _, direction := range []string{tunnel.SpeedUp, tunnel.SpeedDown} {
		var parts []tunnel.SpeedPart
		ok(t, c.Speed(t.Context(), direction, 900*time.Millisecond, func(p tunnel.SpeedPart) { parts = append(parts, p) }))
		if n := len(parts); n != 2 || parts[0].Bytes == 0 || parts[1].Bytes != parts[0].Bytes || parts[1].Start != 0 {
			t.Errorf("%s: %+v", direction, parts)
		}
	}
	if err := c.Speed(t.Context(), "sideways", time.Second, func(tunnel.SpeedPart) {}); !codersdk.Is(err, codersdk.CodePrecondition) {
		t.Errorf("sideways: %v", err)
	}
}
