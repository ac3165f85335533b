package startup

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
)

// maxBody bounds a question and an answer.
const maxBody = 1 << 20

// patience bounds how long one may take to ask, and an agent to answer at once.
const patience = 10 * time.Second

// maxWait is the longest that a start can wait.
const maxWait = 24 * time.Hour

// request is every question's body.
type request struct {
	Unit   string        `json:"unit"`
	Others []string      `json:"others,omitempty"`
	Wait   time.Duration `json:"wait,omitempty"` // nanoseconds
}

// pong says who serves.
type pong struct {
	AgentID uuid.UUID `json:"agent_id"`
}

// Server serves the units of one agent on a socket.
type Server struct {
	path string
	own  os.FileInfo // of the socket
	http *http.Server
	done chan struct{}
}

// maxPath is how long the path of a Unix socket may be: what every system
// takes, with room for the suffix that it has at first.
const maxPath = 92

// Serve begins to serve units at a path, which only this process's user can
// connect to. A socket that a dead process or the same agent has left there is
// replaced; the error of one that another agent serves says so.
func Serve(ctx context.Context, path string, agent uuid.UUID, units *Units) (*Server, error) {
	if len(path) > maxPath {
		return nil, coder.Errorf(coder.CodeInvalid, "the path of a socket has at most %d bytes, and %s is longer", maxPath, path)
	}
	asked, cancel := context.WithTimeout(ctx, patience)
	who, err := (&Client{Path: path}).Ping(asked)
	cancel()
	if err == nil && who != agent {
		return nil, coder.Errorf(coder.CodeConflict, "another agent, %s, serves at %s", who, path)
	}
	// Made beside its place and then moved there: nobody connects before only
	// the user can, and what was there is replaced in one step.
	tmp := path + "." + strconv.Itoa(os.Getpid())
	if err := os.Remove(tmp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "unix", tmp)
	if err != nil {
		return nil, err
	}
	ln.(*net.UnixListener).SetUnlinkOnClose(false)
	s := &Server{path: path, done: make(chan struct{}), http: &http.Server{Handler: handler(agent, units), ReadHeaderTimeout: patience, MaxHeaderBytes: 16 << 10}}
	err = os.Chmod(tmp, 0o600)
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err == nil {
		s.own, err = os.Lstat(path)
	}
	if err != nil {
		ln.Close()
		os.Remove(tmp)
		return nil, err
	}
	go func() {
		defer close(s.done)
		_ = s.http.Serve(ln) // ends with Close
	}()
	return s, nil
}

// Close ends it and all who wait, and removes the socket unless another agent
// has put its own there.
func (s *Server) Close() {
	if now, err := os.Lstat(s.path); err == nil && os.SameFile(now, s.own) {
		os.Remove(s.path)
	}
	s.http.Close()
	<-s.done
}

// handler answers what a Client asks.
func handler(agent uuid.UUID, units *Units) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ping", func(w http.ResponseWriter, _ *http.Request) { answer(w, pong{agent}, nil) })
	post := func(path string, do func(ctx context.Context, r request) (any, error)) {
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
			var in request
			if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&in); err != nil {
				answer(w, nil, coder.Errorf(coder.CodeInvalid, "The request is no JSON of a unit"))
				return
			}
			out, err := do(r.Context(), in)
			answer(w, out, err)
		})
	}
	post("/want", func(_ context.Context, r request) (any, error) { return struct{}{}, units.Want(r.Unit, r.Others...) })
	post("/start", func(ctx context.Context, r request) (any, error) {
		ctx, cancel := context.WithTimeout(ctx, min(r.Wait, maxWait))
		defer cancel()
		return struct{}{}, units.Start(ctx, r.Unit)
	})
	post("/complete", func(_ context.Context, r request) (any, error) { return struct{}{}, units.Complete(r.Unit) })
	post("/status", func(_ context.Context, r request) (any, error) { return units.Get(r.Unit) })
	return mux
}

// refusal is the body of a failure.
type refusal struct {
	Code    coder.Code `json:"code"`
	Message string     `json:"message"`
}

func answer(w http.ResponseWriter, v any, err error) {
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		r := refusal{Code: coder.CodeInternal, Message: err.Error()}
		if e, ok := errors.AsType[*coder.Error](err); ok {
			r = refusal{Code: e.Code, Message: e.Message}
		}
		w.WriteHeader(http.StatusBadRequest)
		v = r
	}
	_ = json.NewEncoder(w).Encode(v) // who asked is gone
}

// Client asks the agent of the workspace it runs in. It is safe for concurrent
// use.
type Client struct {
	Path string // of the agent's socket
}

// Ping tells which agent serves.
func (c *Client) Ping(ctx context.Context) (uuid.UUID, error) {
	var p pong
	err := c.ask(ctx, http.MethodGet, "/ping", nil, &p)
	return p.AgentID, err
}

// Want is Units.Want.
func (c *Client) Want(ctx context.Context, name string, others ...string) error {
	return c.ask(ctx, http.MethodPost, "/want", request{Unit: name, Others: others}, nil)
}

// Start is Units.Start, for at most wait.
func (c *Client) Start(ctx context.Context, name string, wait time.Duration) error {
	return c.ask(ctx, http.MethodPost, "/start", request{Unit: name, Wait: wait}, nil)
}

// Complete is Units.Complete.
func (c *Client) Complete(ctx context.Context, name string) error {
	return c.ask(ctx, http.MethodPost, "/complete", request{Unit: name}, nil)
}

// Get is Units.Get.
func (c *Client) Get(ctx context.Context, name string) (Unit, error) {
	var u Unit
	err := c.ask(ctx, http.MethodPost, "/status", request{Unit: name}, &u)
	return u, err
}

func (c *Client) ask(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(b)
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://agent"+path, body)
	if err != nil {
		return err
	}
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", c.Path)
	}}
	resp, err := transport.RoundTrip(r)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return coder.Errorf(coder.CodeUnavailable, "The agent does not answer at %s; is it running, with CODER_AGENT_SOCKET_SERVER_ENABLED=true in its environment?", c.Path).WithCause(err)
	}
	defer resp.Body.Close()
	limited := json.NewDecoder(io.LimitReader(resp.Body, maxBody))
	if resp.StatusCode != http.StatusOK {
		var f refusal
		if err := limited.Decode(&f); err != nil || f.Message == "" {
			return fmt.Errorf("the socket %s is not that of an agent: it answers %s", c.Path, resp.Status)
		}
		return coder.Errorf(f.Code, "%s", f.Message)
	}
	if out == nil {
		return nil
	}
	return limited.Decode(out)
}
