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

// Bounds of connections to apps. The time until an app responds is not bounded:
// clients may wait as long as they like.
const (
	dialTimeout = 15 * time.Second
	idleTimeout = 30 * time.Second
	idlePerApp  = 64
	idleAtAll   = 4096
)

// formatAgentHost returns a host that names an agent and the app's host in its
// workspace, so that http.Transport pools connections by both.
func formatAgentHost(agent uuid.UUID, u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = "80"
		if u.Scheme == "https" {
			port = "443"
		}
	}
	return agent.String() + "." + hex.EncodeToString([]byte(u.Hostname())) + ":" + port
}

// parseAgentHost parses the result of formatAgentHost.
func parseAgentHost(addr string) (agent uuid.UUID, host, port string, err error) {
	name, port, err := net.SplitHostPort(addr)
	if err != nil {
		return agent, "", "", err
	}
	id, hexHost, ok := strings.Cut(name, ".")
	agent, err = uuid.Parse(id)
	b, hexErr := hex.DecodeString(hexHost)
	if !ok || err != nil || hexErr != nil {
		return agent, "", "", errors.New("not the address of an app")
	}
	return agent, string(b), port, nil
}

// transport sends requests through tunnels: gRPC over HTTP/2, which it
// requires, and everything else over HTTP/1.1, which every app supports.
type transport struct{ http1, http2 http.RoundTripper }

type dialer func(ctx context.Context, agent uuid.UUID, kind, arg string) (net.Conn, error)

func newTransport(dial dialer) transport {
	newHTTP := func(protocols func(*http.Protocols)) http.RoundTripper {
		t := &http.Transport{
			DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
				c, _, err := dial.dialApp(ctx, addr)
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
		t.DialTLSContext = func(ctx context.Context, _, addr string) (net.Conn, error) { return dial.dialTLS(ctx, addr, next) }
		return t
	}
	return transport{
		http1: newHTTP(func(p *http.Protocols) { p.SetHTTP1(true) }),
		http2: newHTTP(func(p *http.Protocols) { p.SetHTTP2(true); p.SetUnencryptedHTTP2(true) }),
	}
}

// RoundTrip sends one request.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.ProtoMajor == 2 && strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
		return t.http2.RoundTrip(r)
	}
	return t.http1.RoundTrip(r)
}

// dialApp opens a TCP connection to an app through the tunnel.
func (d dialer) dialApp(ctx context.Context, addr string) (c net.Conn, host string, err error) {
	agent, host, port, err := parseAgentHost(addr)
	if err != nil {
		return nil, "", err
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	c, err = d(ctx, agent, tunnel.KindTCP, net.JoinHostPort(host, port))
	return c, host, err
}

// dialTLS opens a TLS connection to an app. Its certificate is not verified:
// the tunnel already ends in the right workspace.
func (d dialer) dialTLS(ctx context.Context, addr string, next []string) (net.Conn, error) {
	c, host, err := d.dialApp(ctx, addr)
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
