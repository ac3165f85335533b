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
	// maxMeetings is the maximum number of workspace proxies at which an agent has
	// links at the same time.
	maxMeetings = 16
	// meetDial bounds the dialing of a workspace proxy.
	meetDial = 10 * time.Second
	// meetLinger is how long an agent keeps a link that no client uses.
	meetLinger = 30 * time.Second
)

// ProxyDialer dials the relay of the workspace proxy at a URL with a relay token.
type ProxyDialer func(ctx context.Context, at, token string) (relay.Link, error)

// DialProxy returns the dialer that uses an HTTP client; nil means http.DefaultClient.
func DialProxy(h *http.Client) ProxyDialer {
	h = relay.HTTPClient(h)
	return func(ctx context.Context, at, token string) (relay.Link, error) {
		u, err := proxyURL(at)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(ctx, meetDial)
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

// meetings are an agent's links to workspace proxies, each shared by the clients that
// asked for it.
type meetings struct {
	mu   sync.Mutex
	open map[string]*meeting // by URL
}

// meeting is a link that is dialed or used.
type meeting struct {
	ready  chan struct{} // closed when detour or err is set
	detour *path.Detour
	err    error

	// Guarded by meetings.mu.
	users int
	idle  *time.Timer // closes the detour while no client uses it
}

// meet connects to the workspace proxy that a client names, so that the two can meet
// there, and keeps the link while the client's stream is open. The stream ends with
// the link.
func (l *Listener) meet(ctx context.Context, r *Request) {
	at, token, _ := strings.Cut(r.Arg, " ")
	m, err := l.join(at, token)
	if err != nil {
		r.Reject(err)
		return
	}
	defer l.leave(at, m)
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

// join returns the link to a workspace proxy and counts its new user. It starts to dial
// if there is no link.
func (l *Listener) join(at, token string) (*meeting, error) {
	if l.c.DialProxy == nil {
		return nil, errors.New("the agent does not use workspace proxies")
	}
	s := &l.meetings
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.open[at]
	if m != nil && m.ended() {
		m = nil
	}
	if m == nil {
		if len(s.open) >= maxMeetings {
			return nil, fmt.Errorf("the agent already uses %d workspace proxies", maxMeetings)
		}
		if s.open == nil {
			s.open = map[string]*meeting{}
		}
		m = &meeting{ready: make(chan struct{})}
		s.open[at] = m
		l.handlers.Go(func() { l.dialMeeting(at, token, m) })
	}
	m.users++
	if m.idle != nil {
		m.idle.Stop()
		m.idle = nil
	}
	return m, nil
}

// dialMeeting dials a workspace proxy, and removes the meeting when it has ended.
func (l *Listener) dialMeeting(at, token string, m *meeting) {
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
	l.meetings.mu.Lock()
	defer l.meetings.mu.Unlock()
	if l.meetings.open[at] == m {
		delete(l.meetings.open, at)
	}
}

// ended reports whether a link could not be dialed or is gone.
func (m *meeting) ended() bool {
	select {
	case <-m.ready:
		return m.err != nil || m.detour.Gone()
	default:
		return false
	}
}

// leave counts a user of a link off. Some time after the last one the link is closed.
func (l *Listener) leave(at string, m *meeting) {
	l.meetings.mu.Lock()
	defer l.meetings.mu.Unlock()
	m.users--
	if m.users > 0 || l.meetings.open[at] != m {
		return
	}
	m.idle = time.AfterFunc(meetLinger, func() {
		<-m.ready
		l.meetings.mu.Lock()
		unused := m.users == 0 && m.idle != nil && m.detour != nil
		l.meetings.mu.Unlock()
		if unused {
			m.detour.Close()
		}
	})
}
