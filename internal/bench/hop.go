package bench

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"

	"github.com/coder/websocket"
	"github.com/creack/pty"
)

// forwardTo serves WebSockets that are passed on to others, which dial opens.
func forwardTo(dial func(context.Context) (send func([]byte) error, receive func() ([]byte, error), end func(), err error)) func(io.Reader, io.Writer) error {
	return func(in io.Reader, out io.Writer) error {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
		}))
		defer srv.Close()
		fmt.Fprintln(out, srv.URL)
		_, err := io.Copy(io.Discard, in)
		return err
	}
}

// PTYServer serves WebSockets to terminals that show what is typed, and nothing
// else: the least that an agent can be.
func PTYServer(in io.Reader, out io.Writer) error {
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

// HopServer serves WebSockets that it passes on to a PTYServer of another
// process: the least that a server between a browser and an agent can be.
func HopServer(in io.Reader, out io.Writer) error {
	return forwardTo(func(ctx context.Context) (func([]byte) error, func() ([]byte, error), func(), error) {
		far, end, err := dialFloor(ctx, "floor-pty")
		if err != nil {
			return nil, nil, nil, err
		}
		return func(b []byte) error { return far.Write(ctx, websocket.MessageBinary, b) },
			func() ([]byte, error) { _, b, err := far.Read(ctx); return b, err }, end, nil
	})(in, out)
}
