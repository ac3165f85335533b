// Package plain contains the floors of apps and the web terminal: Go's reverse
// proxy, a minimal server that echoes, and a minimal server and agent with a
// terminal. Each runs in its own process, as any server does.
package plain

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"strings"

	"github.com/coder/websocket"
	"github.com/creack/pty"
)

// Echo serves WebSockets that echo, and prints its address. It runs until its
// input ends.
func Echo(in io.Reader, out io.Writer) error {
	return serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer conn.CloseNow() //nolint:errcheck // it is over
		for {
			kind, b, err := conn.Read(r.Context())
			if err != nil || conn.Write(r.Context(), kind, b) != nil {
				return
			}
		}
	}), in, out)
}

// serve serves and prints its address, until its input ends.
func serve(h http.Handler, in io.Reader, out io.Writer) error {
	srv := httptest.NewServer(h)
	defer srv.Close()
	fmt.Fprintln(out, srv.URL)
	_, err := io.Copy(io.Discard, in)
	return err
}

// Proxy is Go's reverse proxy to the URL in the first line of its input, with
// as many connections as clients. It prints its address and runs until its
// input ends.
func Proxy(in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(in)
	line, err := lines.ReadString('\n')
	if err != nil {
		return err
	}
	to, err := url.Parse(strings.TrimSpace(line))
	if err != nil {
		return err
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	// The default transport would dial for most requests, which would be no
	// floor.
	proxy.Transport = &http.Transport{MaxIdleConnsPerHost: 256}
	return serve(proxy, lines, out)
}

// Start starts a floor by its name, in its own process, passes its input, and
// returns its address.
func Start(ctx context.Context, name, input string) (at string, end func(), err error) {
	cmd := exec.CommandContext(ctx, os.Args[0], "-measure", name)
	cmd.Stderr = os.Stderr
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	end = func() { cmd.Process.Kill(); cmd.Wait() } //nolint:errcheck // it is killed
	if _, err = io.WriteString(in, input); err == nil {
		at, err = bufio.NewReader(out).ReadString('\n')
	}
	if err != nil {
		end()
		return "", nil, fmt.Errorf("start what to measure against, %s: %w", name, err)
	}
	return strings.TrimSpace(at), end, nil
}

// Dial starts a floor that serves WebSockets, and dials it.
func Dial(ctx context.Context, name string) (conn *websocket.Conn, end func(), err error) {
	at, kill, err := Start(ctx, name, "")
	if err != nil {
		return nil, nil, err
	}
	conn, _, err = websocket.Dial(ctx, at, nil)
	if err != nil {
		kill()
		return nil, nil, fmt.Errorf("the plain WebSocket: %w", err)
	}
	return conn, func() { conn.CloseNow(); kill() }, nil //nolint:errcheck // it is over
}

// forwardTo serves WebSockets that are forwarded to those that dial opens.
func forwardTo(dial func(context.Context) (send func([]byte) error, receive func() ([]byte, error), end func(), err error)) func(io.Reader, io.Writer) error {
	return func(in io.Reader, out io.Writer) error {
		return serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			near, err := websocket.Accept(w, r, nil)
			if err != nil {
				return
			}
			defer near.CloseNow() //nolint:errcheck // it is over
			send, receive, end, err := dial(r.Context())
			if err != nil {
				return
			}
			defer end()
			go func() {
				defer near.CloseNow() //nolint:errcheck // likewise
				for {
					b, err := receive()
					if err != nil || near.Write(r.Context(), websocket.MessageBinary, b) != nil {
						return
					}
				}
			}()
			for {
				_, b, err := near.Read(r.Context())
				if err != nil || send(b) != nil {
					return
				}
			}
		}), in, out)
	}
}

// PTY serves WebSockets to terminals that echo, the minimum of an agent.
func PTY(in io.Reader, out io.Writer) error {
	return forwardTo(func(ctx context.Context) (func([]byte) error, func() ([]byte, error), func(), error) {
		cmd := exec.CommandContext(ctx, "sh", "-c", "stty -icanon; echo ready; exec cat >/dev/null")
		f, err := pty.Start(cmd)
		if err != nil {
			return nil, nil, nil, err
		}
		buf := make([]byte, 32<<10)
		return func(b []byte) error { _, err := f.Write(b); return err },
			func() ([]byte, error) { n, err := f.Read(buf); return buf[:n], err },
			func() { f.Close(); cmd.Wait() }, nil //nolint:errcheck // it is over
	})(in, out)
}

// Hop serves WebSockets and forwards them to a PTY of another process, the
// minimum of a server between a browser and an agent.
func Hop(in io.Reader, out io.Writer) error {
	return forwardTo(func(ctx context.Context) (func([]byte) error, func() ([]byte, error), func(), error) {
		far, end, err := Dial(ctx, "floor-pty")
		if err != nil {
			return nil, nil, nil, err
		}
		return func(b []byte) error { return far.Write(ctx, websocket.MessageBinary, b) },
			func() ([]byte, error) { _, b, err := far.Read(ctx); return b, err }, end, nil
	})(in, out)
}
