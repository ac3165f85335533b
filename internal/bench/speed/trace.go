package speed

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/bench/figure"
)

// request is a request of the CLI as the proxy saw it, until the header of the response.
type request struct {
	label      string
	start, end time.Time
}

// stopwatch is a proxy in front of a server that records requests.
type stopwatch struct {
	url   *url.URL
	proxy *httputil.ReverseProxy

	mu       sync.Mutex
	requests []*request
}

var identifier = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// newStopwatch serves until ctx ends.
func newStopwatch(ctx context.Context, to *url.URL) (*stopwatch, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &stopwatch{url: &url.URL{Scheme: "http", Host: l.Addr().String()}, proxy: httputil.NewSingleHostReverseProxy(to)}
	server := &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	context.AfterFunc(ctx, func() { server.Close() })
	go server.Serve(l) //nolint:errcheck // it is closed
	return s, nil
}

func (s *stopwatch) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	this := &request{label: r.Method + " " + identifier.ReplaceAllString(r.URL.Path, "{id}"), start: time.Now()}
	s.mu.Lock()
	s.requests = append(s.requests, this)
	s.mu.Unlock()
	p := *s.proxy
	p.ModifyResponse = func(*http.Response) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		this.end = time.Now()
		return nil
	}
	p.ServeHTTP(w, r)
}

// take returns the requests since the last call in the order of their start.
func (s *stopwatch) take() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []request
	for _, r := range s.requests {
		if !r.end.IsZero() {
			out = append(out, *r)
		}
	}
	s.requests = nil
	return out
}

// phases are the durations of each step of several runs, in the order of the first one.
type phases struct {
	names []string
	took  map[string][]time.Duration
}

func (p *phases) add(name string, d time.Duration) {
	if p.took == nil {
		p.took = map[string][]time.Duration{}
	}
	if p.took[name] == nil {
		p.names = append(p.names, name)
	}
	p.took[name] = append(p.took[name], d)
}

// addCommand adds the steps of a command: until its first request, each request with its
// time since the start, and from the last answer to the end. Requests can overlap.
func (p *phases) addCommand(name string, start, end time.Time, requests []request) {
	last := start
	for i, r := range requests {
		if i == 0 {
			p.add(name+": start of the process", r.start.Sub(start))
		}
		p.add(name+": begin of "+r.label, r.start.Sub(start))
		p.add(name+": "+r.label, r.end.Sub(r.start))
		if r.end.After(last) {
			last = r.end
		}
	}
	p.add(name+": after the last answer", end.Sub(last))
}

// trace claims workspaces through a proxy and prints the median of each step.
func (s *shelf) trace(ctx context.Context, c Config) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watch, err := newStopwatch(ctx, s.Client.URL)
	if err != nil {
		return err
	}
	var p phases
	for range min(traced, c.Claims) {
		watch.take()
		t, err := s.claim(ctx, watch.url)
		if err != nil {
			return err
		}
		requests := watch.take()
		n := slices.IndexFunc(requests, func(r request) bool { return r.start.After(t.created) })
		if n < 0 {
			return errors.New("coder ssh made no request")
		}
		p.addCommand("create", t.start, t.created, requests[:n])
		p.addCommand("ssh", t.created, t.end, requests[n:])
	}
	for _, name := range p.names {
		fmt.Fprintf(c.Progress, "%7.1f ms  %s\n", figure.Milliseconds(figure.Quantile(p.took[name], 0.5)), name)
	}
	return nil
}
