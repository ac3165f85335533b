package tunnel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/path"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/relay"
)

const (
	// maxProxyLinks is the maximum number of workspace proxies to which an agent has links at
	// the same time.
	maxProxyLinks = 16
	// proxyDialTimeout bounds the dialing of a workspace proxy.
	proxyDialTimeout = 10 * time.Second
	// proxyLinkLinger is how long an agent keeps a link that no client uses.
	proxyLinkLinger = 30 * time.Second
)

// ProxyDialer dials the relay of the workspace proxy at a URL with a relay token.
type ProxyDialer func(ctx context.Context, at, token string) (relay.Link, error)

// DialProxy returns a dialer that uses an HTTP client; nil means http.DefaultClient.
func DialProxy(h *http.Client) ProxyDialer {
	h = relay.HTTPClient(h)
	return func(ctx context.Context, at, token string) (relay.Link, error) {
		u, err := proxyURL(at)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(ctx, proxyDialTimeout)
		defer cancel()
		c := codersdk.Client{URL: u, HTTP: h, Header: http.Header{RelayTokenHeader: {token}}} // without a session token
		conn, err := c.Dial(ctx, "/relay", nil)
		if err != nil {
			return nil, err
		}
		return relay.WebSocketLink(conn), nil
	}
}

func proxyURL(at string) (*url.URL, error) {
	u, err := url.Parse(at)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%.100q is not the URL of a workspace proxy", at)
	}
	return u, nil
}

// proxyLinks are an agent's links to workspace proxies. Clients that request the same proxy
// share a link.
type proxyLinks struct {
	mu   sync.Mutex
	open map[string]*proxyLink // by URL
}

// proxyLink is a link that is being dialed or used.
type proxyLink struct {
	ready  chan struct{} // closed when detour or err is set
	detour *path.Detour
	err    error

	// Guarded by meetings.mu.
	users int
	idle  *time.Timer // closes the detour while no client uses it
}

// serveRelay connects to the workspace proxy that a client names, so that the proxy can relay
// between them. The agent keeps the link while the client's stream is open. The stream ends
// with the link.
func (l *Listener) serveRelay(ctx context.Context, r *Request) {
	at, token, _ := strings.Cut(r.Arg, " ")
	m, err := l.acquireProxyLink(at, token)
	if err != nil {
		r.Reject(err)
		return
	}
	defer l.releaseProxyLink(at, m)
	select {
	case <-m.ready:
	case <-ctx.Done():
		return
	}
	if m.err != nil {
		l.c.Log.Debug("cannot reach a workspace proxy", "url", at, "error", m.err)
		r.Reject(fmt.Errorf("the workspace cannot reach the workspace proxy: %w", m.err))
		return
	}
	s, err := r.Accept()
	if err != nil {
		return // the client has disconnected
	}
	left := make(chan struct{})
	go func() {
		defer close(left)
		_, _ = io.Copy(io.Discard, s) // until the client closes the stream
	}()
	select {
	case <-m.detour.Ended():
	case <-left:
	case <-ctx.Done():
	}
}

// acquireProxyLink returns the link to a workspace proxy and counts its new user. It starts to
// dial if there is no link.
func (l *Listener) acquireProxyLink(at, token string) (*proxyLink, error) {
	if l.c.DialProxy == nil {
		return nil, errors.New("the agent does not use workspace proxies")
	}
	s := &l.proxyLinks
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.open[at]
	if m != nil && m.ended() {
		m = nil
	}
	if m == nil {
		if len(s.open) >= maxProxyLinks {
			return nil, fmt.Errorf("the agent already uses %d workspace proxies", maxProxyLinks)
		}
		if s.open == nil {
			s.open = map[string]*proxyLink{}
		}
		m = &proxyLink{ready: make(chan struct{})}
		s.open[at] = m
		l.handlers.Go(func() { l.dialProxyLink(at, token, m) })
	}
	m.users++
	if m.idle != nil {
		m.idle.Stop()
		m.idle = nil
	}
	return m, nil
}

// dialProxyLink dials a workspace proxy, and removes the link when it has ended.
func (l *Listener) dialProxyLink(at, token string, m *proxyLink) {
	link, err := l.c.DialProxy(l.stopping, at, token)
	if err == nil {
		m.detour, err = l.path.Detour(link, relay.TextServe(relay.InstanceOf(l.c.Identity.Certificate())), relay.TextDetach, func(string) {})
	}
	m.err = err
	close(m.ready)
	if err == nil {
		l.c.Log.Debug("connected to a workspace proxy", "url", at)
		defer context.AfterFunc(l.stopping, m.detour.Close)()
		<-m.detour.Ended()
		l.c.Log.Debug("disconnected from a workspace proxy", "url", at)
	}
	l.proxyLinks.mu.Lock()
	defer l.proxyLinks.mu.Unlock()
	if l.proxyLinks.open[at] == m {
		delete(l.proxyLinks.open, at)
	}
}

// ended reports whether dialing failed or the link is gone.
func (m *proxyLink) ended() bool {
	select {
	case <-m.ready:
		return m.err != nil || m.detour.Gone()
	default:
		return false
	}
}

// releaseProxyLink removes a user of a link. The link closes proxyLinkLinger after its last
// user left.
func (l *Listener) releaseProxyLink(at string, m *proxyLink) {
	l.proxyLinks.mu.Lock()
	defer l.proxyLinks.mu.Unlock()
	m.users--
	if m.users > 0 || l.proxyLinks.open[at] != m {
		return
	}
	m.idle = time.AfterFunc(proxyLinkLinger, func() {
		<-m.ready
		l.proxyLinks.mu.Lock()
		unused := m.users == 0 && m.idle != nil && m.detour != nil
		l.proxyLinks.mu.Unlock()
		if unused {
			m.detour.Close()
		}
	})
}
