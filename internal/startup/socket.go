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

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// maxBody bounds a request and a response, in bytes.
const maxBody = 1 << 20

// patience bounds the time to send a request, and to receive a response that
// does not wait.
const patience = 10 * time.Second

// maxWait bounds the wait of a start.
const maxWait = 24 * time.Hour

// request is the body of every request.
type request struct {
	Unit   string        `json:"unit"`
	Others []string      `json:"others,omitempty"`
	Wait   time.Duration `json:"wait,omitempty"` // nanoseconds
}

// pong is the response to a ping: the agent that serves the socket.
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

// maxPath bounds the path of a Unix socket, in bytes: the minimum of all
// systems, less the suffix of the temporary name.
const maxPath = 92

// Serve starts to serve units at a path that only this process's user can
// connect to. It replaces a socket of a dead process or of the same agent. If
// another agent serves the socket, Serve returns an error of CodeConflict. more
// are further handlers, by path.
func Serve(ctx context.Context, path string, agent uuid.UUID, units *Units, more map[string]http.Handler) (*Server, error) {
	if len(path) > maxPath {
		return nil, codersdk.Errorf(codersdk.CodeInvalid, "the path of a socket is limited to %d bytes, but %s is longer; use a shorter path", maxPath, path)
	}
	asked, cancel := context.WithTimeout(ctx, patience)
	who, err := (&Client{Path: path}).Ping(asked)
	cancel()
	if err == nil && who != agent {
		return nil, codersdk.Errorf(codersdk.CodeConflict, "another agent, %s, already serves at %s", who, path)
	}
	// The socket is created under a temporary name and renamed. No client can
	// connect before its permissions are set, and the replacement is atomic.
	tmp := path + "." + strconv.Itoa(os.Getpid())
	if err := os.Remove(tmp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "unix", tmp)
	if err != nil {
		return nil, err
	}
	ln.(*net.UnixListener).SetUnlinkOnClose(false)
	s := &Server{path: path, done: make(chan struct{}), http: &http.Server{
		Handler: handler(agent, units, more), ReadHeaderTimeout: patience, MaxHeaderBytes: 16 << 10,
	}}
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
		_ = s.http.Serve(ln) // returns after Close
	}()
	return s, nil
}

// Close stops the server and all waiting requests. It removes the socket unless
// another agent has replaced it.
func (s *Server) Close() {
	if now, err := os.Lstat(s.path); err == nil && os.SameFile(now, s.own) {
		os.Remove(s.path)
	}
	s.http.Close()
	<-s.done
}

// handler serves the requests of a Client.
func handler(agent uuid.UUID, units *Units, more map[string]http.Handler) http.Handler {
	mux := http.NewServeMux()
	for path, h := range more {
		mux.Handle("GET "+path, h)
	}
	mux.HandleFunc("GET /ping", func(w http.ResponseWriter, _ *http.Request) { answer(w, pong{agent}, nil) })
	post := func(path string, do func(ctx context.Context, r request) (any, error)) {
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
			var in request
			if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&in); err != nil {
				answer(w, nil, codersdk.Errorf(codersdk.CodeInvalid, "The request body is not valid JSON of a unit"))
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

// refusal is the body of an error response.
type refusal struct {
	Code    codersdk.Code `json:"code"`
	Message string        `json:"message"`
}

func answer(w http.ResponseWriter, v any, err error) {
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		r := refusal{Code: codersdk.CodeInternal, Message: err.Error()}
		if e, ok := errors.AsType[*codersdk.Error](err); ok {
			r = refusal{Code: e.Code, Message: e.Message}
		}
		w.WriteHeader(http.StatusBadRequest)
		v = r
	}
	_ = json.NewEncoder(w).Encode(v) // the client has disconnected
}

// Client sends requests to the agent of the workspace. It is safe for
// concurrent use.
type Client struct {
	Path string // of the agent's socket
}

// Ping returns the ID of the agent.
func (c *Client) Ping(ctx context.Context) (uuid.UUID, error) {
	var p pong
	err := c.ask(ctx, http.MethodGet, "/ping", nil, &p)
	return p.AgentID, err
}

// Want calls Units.Want.
func (c *Client) Want(ctx context.Context, name string, others ...string) error {
	return c.ask(ctx, http.MethodPost, "/want", request{Unit: name, Others: others}, nil)
}

// Start calls Units.Start and waits for at most wait.
func (c *Client) Start(ctx context.Context, name string, wait time.Duration) error {
	return c.ask(ctx, http.MethodPost, "/start", request{Unit: name, Wait: wait}, nil)
}

// Complete calls Units.Complete.
func (c *Client) Complete(ctx context.Context, name string) error {
	return c.ask(ctx, http.MethodPost, "/complete", request{Unit: name}, nil)
}

// Get calls Units.Get.
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
		return codersdk.Errorf(codersdk.CodeUnavailable, "The agent does not answer at %s; check that it is running, and without "+
			"CODER_AGENT_SOCKET_SERVER_ENABLED=false", c.Path).WithCause(err)
	}
	defer resp.Body.Close()
	limited := json.NewDecoder(io.LimitReader(resp.Body, maxBody))
	if resp.StatusCode != http.StatusOK {
		var f refusal
		if err := limited.Decode(&f); err != nil || f.Message == "" {
			return fmt.Errorf("the socket %s does not belong to an agent: it answered %s", c.Path, resp.Status)
		}
		return codersdk.Errorf(f.Code, "%s", f.Message)
	}
	if out == nil {
		return nil
	}
	return limited.Decode(out)
}
