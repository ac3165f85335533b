package appproxy

import (
	"context"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

// Bounds of connections to apps. There is none on how long an app may take to
// answer: that is between it and its client, who may go away.
const (
	dialTimeout = 15 * time.Second
	idleTimeout = 30 * time.Second
	idlePerApp  = 64
	idleAtAll   = 4096
)

// address makes a host of an agent and an address as it sees it, so that
// connections are kept apart by both.
func address(agent uuid.UUID, u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = "80"
		if u.Scheme == "https" {
			port = "443"
		}
	}
	return agent.String() + "." + hex.EncodeToString([]byte(u.Hostname())) + ":" + port
}

// readAddress takes it apart.
func readAddress(addr string) (agent uuid.UUID, host, port string, err error) {
	name, port, err := net.SplitHostPort(addr)
	if err != nil {
		return agent, "", "", err
	}
	id, hexHost, ok := strings.Cut(name, ".")
	agent, err = uuid.Parse(id)
	b, hexErr := hex.DecodeString(hexHost)
	if !ok || err != nil || hexErr != nil {
		return agent, "", "", errors.New("not an address of an app")
	}
	return agent, string(b), port, nil
}

// transport sends requests through tunnels: gRPC by HTTP/2, because it is
// nothing without, and all else by HTTP/1.1, which every app speaks.
type transport struct{ one, two http.RoundTripper }

type dialer func(ctx context.Context, agent uuid.UUID, kind, arg string) (net.Conn, error)

func newTransport(dial dialer) transport {
	make := func(protocols func(*http.Protocols)) http.RoundTripper {
		t := &http.Transport{
			DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
				c, _, err := dial.app(ctx, addr)
				return c, err
			},
			MaxIdleConns: idleAtAll, MaxIdleConnsPerHost: idlePerApp, IdleConnTimeout: idleTimeout,
			DisableCompression: true, ExpectContinueTimeout: time.Second, MaxResponseHeaderBytes: 256 << 10,
			Protocols: new(http.Protocols),
		}
		protocols(t.Protocols)
		next := []string{"http/1.1"}
		if t.Protocols.HTTP2() {
			next = []string{"h2"}
		}
		t.DialTLSContext = func(ctx context.Context, _, addr string) (net.Conn, error) { return dial.tls(ctx, addr, next) }
		return t
	}
	return transport{
		one: make(func(p *http.Protocols) { p.SetHTTP1(true) }),
		two: make(func(p *http.Protocols) { p.SetHTTP2(true); p.SetUnencryptedHTTP2(true) }),
	}
}

// RoundTrip sends one request.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.ProtoMajor == 2 && strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
		return t.two.RoundTrip(r)
	}
	return t.one.RoundTrip(r)
}

// app opens a connection to an app.
func (d dialer) app(ctx context.Context, addr string) (c net.Conn, host string, err error) {
	agent, host, port, err := readAddress(addr)
	if err != nil {
		return nil, "", err
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	c, err = d(ctx, agent, tunnel.KindTCP, net.JoinHostPort(host, port))
	return c, host, err
}

// tls opens one that speaks TLS. Whose certificate the app has does not matter:
// the tunnel leads to its workspace and nowhere else.
func (d dialer) tls(ctx context.Context, addr string, next []string) (net.Conn, error) {
	c, host, err := d.app(ctx, addr)
	if err != nil {
		return nil, err
	}
	t := tls.Client(c, &tls.Config{ServerName: host, InsecureSkipVerify: true, NextProtos: next})
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if err := t.HandshakeContext(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return t, nil
}
