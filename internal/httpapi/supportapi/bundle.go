package supportapi

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/redact"
	"github.com/seed-2a7f8fe7/coder/internal/supportbundle"
)

const (
	// maxRunning bounds the bundles that this server collects at a time.
	maxRunning = 4
	// chunk is the size of a binary message, in bytes.
	chunk = 64 << 10
	// writeLimit bounds the sending of one message.
	writeLimit = 30 * time.Second
	// defaultWorkspaces is the default number of listed workspaces.
	defaultWorkspaces = 10
)

// reserve counts a bundle of the user, which release ends.
func (a *API) reserve(user uuid.UUID) (release func(), err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.running[user] {
		return nil, codersdk.Errorf(codersdk.CodeConflict, "A support bundle of yours is being created; wait until it is complete")
	}
	if len(a.running) >= maxRunning {
		return nil, codersdk.Errorf(codersdk.CodeUnavailable, "The server is creating %d support bundles; try again in a minute", maxRunning)
	}
	a.running[user] = true
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.running, user)
	}, nil
}

// serveBundle collects a bundle and sends it while it grows. The collection stops
// when the client leaves.
func (a *API) serveBundle(w http.ResponseWriter, r *http.Request) error {
	c, err := a.describe(r)
	if err != nil {
		return err
	}
	release, err := a.reserve(rest.Actor(r).UserID)
	if err != nil {
		return err
	}
	defer release()
	conn, err := rest.AcceptWebSocket(w, r)
	if err != nil {
		return err
	}
	defer conn.CloseNow() //nolint:errcheck // closed in order below if it can be
	ctx, cancel := context.WithCancel(conn.CloseRead(r.Context()))
	defer cancel()
	send := func(kind websocket.MessageType, b []byte) error {
		write, done := context.WithTimeout(ctx, writeLimit)
		defer done()
		return conn.Write(write, kind, b)
	}
	report := func(p codersdk.SupportBundleProgress) {
		b, err := json.Marshal(p)
		if err == nil {
			err = send(websocket.MessageText, b)
		}
		if err != nil {
			cancel() // nobody receives the bundle
		}
	}
	c.Progress = func(p supportbundle.Progress) {
		line := codersdk.SupportBundleProgress{Part: p.Part, Done: p.Done, Total: p.Total}
		if p.Err != nil {
			line.Error = c.Redactor.Text(shortReason(p.Err))
		}
		report(line)
	}
	out := bufio.NewWriterSize(messages(func(b []byte) error { return send(websocket.MessageBinary, b) }), chunk)
	m, err := supportbundle.Collect(ctx, out, c)
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		return nil //nolint:nilerr // the client went away
	}
	report(codersdk.SupportBundleProgress{Result: &codersdk.SupportBundleResult{
		Name: fmt.Sprintf("coder-support-%d.zip", m.CreatedAt.Unix()), Files: len(m.Files) + 1, Missing: len(m.Errors),
	}})
	conn.Close(websocket.StatusNormalClosure, "") //nolint:errcheck // the peer may be gone
	return nil
}

// messages sends each write as one message.
type messages func(b []byte) error

// Write sends b.
func (m messages) Write(b []byte) (int, error) {
	if err := m(b); err != nil {
		return 0, err
	}
	return len(b), nil
}

// shortReason returns the public text of an error.
func shortReason(err error) string {
	if e, ok := errors.AsType[*codersdk.Error](err); ok {
		return e.Message
	}
	return rest.Truncate(err.Error(), 300)
}

// describe reads the query and returns the bundle that it asks for.
func (a *API) describe(r *http.Request) (c supportbundle.Config, err error) {
	workspace, err := rest.QueryID(r, "workspace")
	if err != nil {
		return c, err
	}
	template, err := rest.QueryID(r, "template")
	if err != nil {
		return c, err
	}
	if c.Profiles, err = rest.QueryBool(r, "pprof"); err != nil {
		return c, err
	}
	if c.Workspaces, err = rest.QueryInt(r, "workspaces"); err != nil {
		return c, err
	}
	if c.Workspaces == 0 {
		c.Workspaces = defaultWorkspaces
	}
	token, _ := codersdk.TokenOf(r)
	c.Client = &codersdk.Client{
		URL: a.c.AccessURL, SessionToken: token, HTTP: &http.Client{Transport: inProcess{handler: a.handler, from: r}},
	}
	c.Redactor, c.Now, c.LogName = redact.New(append([]string{token}, a.c.Secrets...)...), a.c.Now, "collection_logs.txt"
	if template != uuid.Nil {
		if _, err := c.Client.Template(r.Context(), template); err != nil {
			return c, err
		}
		c.Template = func(ctx context.Context) (codersdk.Template, error) { return c.Client.Template(ctx, template) }
	}
	if workspace == uuid.Nil {
		return c, nil
	}
	w, err := c.Client.Workspace(r.Context(), workspace, nil)
	if err != nil {
		return c, err
	}
	c.Workspace = &w
	if c.Agent, err = agentOf(&w, r.URL.Query().Get("agent")); err != nil || c.Agent == nil {
		return c, err
	}
	actor, id := rest.Actor(r), c.Agent.ID
	c.Connect = func(ctx context.Context, _ *slog.Logger) (*supportbundle.AgentConn, error) {
		agent, err := a.c.Presence.AgentForUser(ctx, actor, id, codersdk.RBACActionSSH)
		if err != nil {
			return nil, err
		}
		if agent.Status != codersdk.WorkspaceAgentStatusConnected || a.c.AgentHTTP == nil {
			return nil, codersdk.Errorf(codersdk.CodeUnavailable, "The agent is %s", agent.Status)
		}
		return &supportbundle.AgentConn{HTTP: a.c.AgentHTTP(agent)}, nil
	}
	return c, nil
}

// agentOf returns the agent with the name, or the first one that is no child of
// another. It returns nil if the workspace has no agent.
func agentOf(w *codersdk.Workspace, name string) (*codersdk.WorkspaceAgent, error) {
	for _, r := range w.LatestBuild.Resources {
		for _, agent := range r.Agents {
			if name == "" && agent.ParentID == nil || agent.Name == name {
				return &agent, nil
			}
		}
	}
	if name != "" {
		return nil, codersdk.Invalid("agent", "the workspace has no agent %q", rest.Truncate(name, 64))
	}
	return nil, nil
}
