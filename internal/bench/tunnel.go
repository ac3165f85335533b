package bench

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/bench/plain"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

const (
	// streamTime is the duration of one measurement of a stream.
	streamTime = 1500 * time.Millisecond
	// streamTurns is the number of measurements of each kind, in turns.
	streamTurns = 3
	// directWait is the timeout for finding a direct path.
	directWait = 10 * time.Second
)

// TLSServer fills or drains TLS 1.3 connections, as their first byte requests,
// and prints its address. It runs until its input ends.
func TLSServer(in io.Reader, out io.Writer) error {
	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, key)
	if err != nil {
		return err
	}
	ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
	})
	if err != nil {
		return err
	}
	defer ln.Close()
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go fill(c)
		}
	}()
	fmt.Fprintln(out, ln.Addr())
	_, err = io.Copy(io.Discard, in)
	return err
}

// fill writes or reads until the other side closes.
func fill(c net.Conn) {
	defer c.Close()
	b := make([]byte, 128<<10)
	if _, err := io.ReadFull(c, b[:1]); err != nil {
		return
	}
	move := c.Read
	if b[0] == 'd' {
		move = c.Write
	}
	for {
		if _, err := move(b); err != nil {
			return
		}
	}
}

// floorSpeed returns the bytes per second of one TLS stream.
func floorSpeed(address, direction string) (float64, error) {
	c, err := tls.Dial("tcp", address, &tls.Config{MinVersion: tls.VersionTLS13, InsecureSkipVerify: true}) // it is our own child
	if err != nil {
		return 0, err
	}
	defer c.Close()
	if _, err := c.Write([]byte(direction[:1])); err != nil {
		return 0, err
	}
	b := make([]byte, 128<<10)
	move := c.Read
	if direction == tunnel.SpeedUp {
		move = c.Write
	}
	start, n := time.Now(), 0
	for time.Since(start) < streamTime {
		k, err := move(b)
		if err != nil {
			return 0, err
		}
		n += k
	}
	return float64(n) / time.Since(start).Seconds(), nil
}

// tunnelSpeed returns the bytes per second of one stream to the agent.
func tunnelSpeed(ctx context.Context, c *tunnel.Conn, direction string) (float64, error) {
	var total tunnel.SpeedPart
	if err := c.Speed(ctx, direction, streamTime, func(p tunnel.SpeedPart) { total = p }); err != nil {
		return 0, err
	}
	return float64(total.Bytes) / total.End.Seconds(), nil
}

// dialRoute opens a tunnel to the agent of a workspace, direct or relayed.
func (s *server) dialRoute(ctx context.Context, w codersdk.Workspace, route string) (*tunnel.Conn, error) {
	o := tunnel.Options{}
	if route == tunnel.RouteRelay {
		o.NoDirect = "the relay is measured"
	}
	c, err := tunnel.DialAgent(ctx, s.c, agentOf(w), o)
	if err != nil {
		return nil, err
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(directWait); c.Path() != route; {
		select {
		case <-late:
			c.Close() //nolint:errcheck // it is of no use
			return nil, fmt.Errorf("the tunnel does not go %s: %+v", route, c.Route())
		case <-tick.C:
		}
	}
	return c, nil
}

// streamRows measures one stream between two processes, direct and relayed,
// against a kernel TCP stream with TLS 1.3.
func (s *server) streamRows(ctx context.Context, w codersdk.Workspace) ([]row, error) {
	floor, end, err := plain.Start(ctx, "floor-tls", "")
	if err != nil {
		return nil, err
	}
	defer end()
	var rows []row
	for _, route := range []struct {
		name string
		goal float64
	}{{tunnel.RouteDirect, 0.4}, {tunnel.RouteRelay, 0.25}} {
		c, err := s.dialRoute(ctx, w, route.name)
		if err != nil {
			return rows, err
		}
		for _, direction := range []string{tunnel.SpeedUp, tunnel.SpeedDown} {
			var ratios, rates []float64
			for range streamTurns {
				least, err := floorSpeed(floor, direction)
				if err != nil {
					return rows, err
				}
				ours, err := tunnelSpeed(ctx, c, direction)
				if err != nil {
					return rows, err
				}
				ratios, rates = append(ratios, ours/least), append(rates, ours/1e6)
			}
			name := map[string]string{tunnel.RouteDirect: "direct", tunnel.RouteRelay: "relayed"}[route.name]
			rows = append(rows, atLeast(fmt.Sprintf("stream_%s_%s_over_tls", name, direction), median(ratios), route.goal, "x"),
				atLeast(fmt.Sprintf("stream_%s_%s", name, direction), median(rates), 250, "MB/s"))
		}
		if err := c.Close(); err != nil {
			return rows, err
		}
	}
	return rows, nil
}
