package listen

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// slowPost sends the head of a request and a part of its body, and returns the
// connection.
func slowPost(t *testing.T, srv *httptest.Server, length int, part string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() }) //nolint:errcheck // closed by the server
	fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: server\r\nContent-Length: %d\r\n\r\n%s", length, part)
	return c
}

func TestSlowBodyEnds(t *testing.T) {
	read := make(chan error, 1)
	for name, handler := range map[string]http.HandlerFunc{
		"read by the handler": func(_ http.ResponseWriter, r *http.Request) {
			_, err := io.ReadAll(r.Body)
			read <- err
		},
		"not read": func(http.ResponseWriter, *http.Request) { read <- os.ErrDeadlineExceeded },
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(boundBodies(50*time.Millisecond, handler))
			defer srv.Close()
			c := slowPost(t, srv, 1000, "{")
			if err := <-read; !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("the body ended with %v, want its deadline", err)
			}
			if _, err := io.Copy(io.Discard, c); err != nil {
				t.Errorf("the connection was not closed: %v", err)
			}
		})
	}
}

// TestWholeBody sends a body at once: its deadline must not end the request, or
// the next one of the connection.
func TestWholeBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const grace = 20 * time.Millisecond
		srv := &http.Server{Handler: boundBodies(grace, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if _, err := io.ReadAll(r.Body); err != nil {
				t.Error(err)
			}
			select {
			case <-r.Context().Done():
				t.Error("the request ended with the deadline of a body that was read")
			case <-time.After(5 * grace):
			}
		}))}
		client, server := net.Pipe()
		served := make(chan struct{})
		go func() {
			defer close(served)
			_ = srv.Serve(&single{conn: server, closed: make(chan struct{})}) // returns after Close
		}()
		in := bufio.NewReader(client)
		for range 2 {
			fmt.Fprint(client, "POST / HTTP/1.1\r\nHost: server\r\nContent-Length: 2\r\n\r\n{}")
			resp, err := http.ReadResponse(in, nil)
			if err != nil || resp.StatusCode != http.StatusOK {
				t.Fatal(resp, err)
			}
		}
		srv.Close() //nolint:errcheck // of one connection
		<-served
	})
}

// single is a listener that has one connection.
type single struct {
	conn   net.Conn
	closed chan struct{}
	once   sync.Once
}

func (s *single) Accept() (net.Conn, error) {
	if c := s.conn; c != nil {
		s.conn = nil
		return c, nil
	}
	<-s.closed
	return nil, net.ErrClosed
}

func (s *single) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

func (s *single) Addr() net.Addr { return &net.UnixAddr{} }

// TestUnboundBody lifts the deadline: a slow body arrives whole.
func TestUnboundBody(t *testing.T) {
	lifted := make(chan struct{})
	read := make(chan string, 1)
	srv := httptest.NewServer(boundBodies(20*time.Millisecond, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		UnboundBody(r.Context())
		close(lifted)
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		read <- string(b)
	})))
	defer srv.Close()
	c := slowPost(t, srv, 4, "ab")
	<-lifted
	testwait.Pause(100 * time.Millisecond) // five times the deadline
	fmt.Fprint(c, "cd")
	if got := <-read; got != "abcd" {
		t.Errorf("got %q", got)
	}
}

// TestBodyDeadlineMoves reads a body for longer than the grace, at a sufficient rate.
func TestBodyDeadlineMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(strings.Repeat("x", bodyRate*3)))
		w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
		start := time.Now()
		boundBodies(time.Minute, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if _, err := io.ReadFull(r.Body, make([]byte, bodyRate*3)); err != nil {
				t.Error(err)
			}
		})).ServeHTTP(w, r)
		if got := w.last.Sub(start); got < time.Minute+3*time.Second || got > 2*time.Minute {
			t.Errorf("after three seconds' worth of bytes the deadline is after %s", got)
		}
	})
}

type deadlines struct {
	*httptest.ResponseRecorder
	last time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error { d.last = t; return nil }
