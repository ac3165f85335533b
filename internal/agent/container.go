package agent

import (
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/agentrpc"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/agent/environ"
	"github.com/seed-2a7f8fe7/coder/internal/devcontainer"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
)

// newContainers returns the dev containers of a life, or nil when they are
// disabled or unsupported.
func (l *life) newContainers() *devcontainer.Set {
	if !l.c.Devcontainers || !devcontainer.Supported() || len(l.manifest.ParentId) > 0 {
		return nil
	}
	c := devcontainer.Config{
		Log: l.log, Env: l.env, Dir: l.workDir(), Namespace: uuid.UUID(l.manifest.AgentId), Discover: l.c.DiscoverDevcontainers,
		Autostart: l.c.AutostartDevcontainers, Agents: subAgents{l.Agent}, URL: l.c.URL.String(), Say: l.containerSays(),
	}
	for _, d := range l.manifest.Devcontainers {
		id, err := uuid.FromBytes(d.Id)
		if err != nil {
			continue
		}
		one := codersdk.DeclaredDevcontainer{ID: id, Name: d.Name, WorkspaceFolder: environ.Expand(d.WorkspaceFolder, l.workDir(), l.env)}
		if one.ConfigPath = environ.Expand(d.ConfigPath, one.WorkspaceFolder, l.env); one.ConfigPath != "" {
			one.ConfigPath = filepath.Clean(one.ConfigPath)
		}
		c.Declared = append(c.Declared, one)
	}
	return devcontainer.New(c)
}

// containerSays returns a function that writes lines about dev containers to
// the agent's log. Each dev container has its own log source, with the ID of
// the dev container.
func (l *life) containerSays() func(uuid.UUID, string, codersdk.LogLevel, string) {
	var mu sync.Mutex
	named := map[uuid.UUID]bool{}
	return func(id uuid.UUID, name string, level codersdk.LogLevel, line string) {
		mu.Lock()
		defer mu.Unlock()
		if !named[id] {
			named[id] = true
			l.reports.Add("name of a log source", func(ctx context.Context, _ agentrpc.DRPCAgentClient) error {
				if err := l.server().PutAgentLogSource(ctx, id, "Dev Container: "+name, "/emojis/1f4e6.png"); err != nil { // the lines are still useful without a name
					l.log.Warn("cannot name the log source of a dev container", "devcontainer", name, "error", err)
				}
				return nil
			})
		}
		if !l.reports.LogFull() {
			l.reports.Log(id, level, line)
		}
	}
}

// subAgents manages the agents in dev containers on the server.
type subAgents struct{ *Agent }

// askFailing bounds the time that calls about a sub-agent are retried while the
// server fails, for example without its database.
const askFailing = time.Minute

// ask makes a call and retries it while the server is unreachable or fails.
func (a subAgents) ask(ctx context.Context, call func(context.Context, agentrpc.DRPCAgentClient) error) error {
	var failing time.Time
	for wait := (lifecycle.Backoff{Limit: a.c.Backoff}); ; {
		if c := a.control.Load(); c != nil {
			bounded, cancel := context.WithTimeout(ctx, callTimeout)
			err := call(bounded, *c)
			cancel()
			if failing.IsZero() {
				failing = time.Now()
			}
			code := agentrpc.CodeOf(err)
			again := code == codersdk.CodeInternal || code == codersdk.CodeUnavailable
			if err == nil || ctx.Err() != nil || a.control.Load() == c && (!again || time.Since(failing) > askFailing) {
				return err
			}
		}
		if !wait.Sleep(ctx) {
			return ctx.Err()
		}
	}
}

// Create creates the agent of a dev container.
func (a subAgents) Create(ctx context.Context, n devcontainer.NewAgent) (made devcontainer.Agent, token string, err error) {
	req := &agentrpc.SubAgentRequest{
		DevcontainerId: n.DevcontainerID[:], Name: n.Name, Directory: n.Directory, Architecture: n.Architecture, OperatingSystem: "linux", DisplayApps: n.DisplayApps,
	}
	for i, p := range n.Apps {
		req.Apps = append(req.Apps, &agentrpc.SubAgentApp{
			Slug: p.Slug, DisplayName: p.DisplayName, Icon: p.Icon, Command: p.Command, Url: p.URL, External: p.External, Subdomain: p.Subdomain,
			Share: string(p.SharingLevel), OpenIn: string(p.OpenIn), Group: p.Group, Hidden: p.Hidden, Order: int32(i),
			HealthcheckUrl: p.Healthcheck.URL, HealthcheckIntervalSeconds: p.Healthcheck.Interval, HealthcheckThreshold: p.Healthcheck.Threshold,
		})
	}
	err = a.ask(ctx, func(ctx context.Context, c agentrpc.DRPCAgentClient) error {
		got, err := c.CreateSubAgent(ctx, req)
		made, token = subAgent(got), got.GetToken()
		return err
	})
	return made, token, err
}

// Delete deletes the agent of a dev container.
func (a subAgents) Delete(ctx context.Context, id uuid.UUID) error {
	return a.ask(ctx, func(ctx context.Context, c agentrpc.DRPCAgentClient) error {
		_, err := c.DeleteSubAgent(ctx, &agentrpc.SubAgentID{Id: id[:]})
		return err
	})
}

// List returns all agents of dev containers.
func (a subAgents) List(ctx context.Context) (all []devcontainer.Agent, err error) {
	err = a.ask(ctx, func(ctx context.Context, c agentrpc.DRPCAgentClient) error {
		got, err := c.ListSubAgents(ctx, &agentrpc.Empty{})
		all = nil
		for _, one := range got.GetAgents() {
			all = append(all, subAgent(one))
		}
		return err
	})
	return all, err
}

func subAgent(a *agentrpc.SubAgent) (out devcontainer.Agent) {
	out.Name = a.GetName()
	out.ID, _ = uuid.FromBytes(a.GetId()) // an invalid ID becomes uuid.Nil, which matches none
	out.DevcontainerID, _ = uuid.FromBytes(a.GetDevcontainerId())
	return out
}

// serveContainers serves the container endpoints of the agent's API.
func (l *life) serveContainers(mux *http.ServeMux) {
	const base = "/api/v0/containers"
	handle := func(pattern string, f func(http.ResponseWriter, *http.Request, *devcontainer.Set) error) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			err := error(codersdk.Errorf(codersdk.CodeForbidden, "Dev containers are disabled in this workspace (CODER_AGENT_DEVCONTAINERS_ENABLE) or not supported "+
				"by its system"))
			if l.containers != nil {
				err = f(w, r, l.containers)
			}
			if err != nil {
				answerError(w, err)
			}
		})
	}
	handle("GET "+base, func(w http.ResponseWriter, r *http.Request, s *devcontainer.Set) error {
		answer(w, http.StatusOK, s.List(r.Context(), r.URL.Query()["label"]))
		return nil
	})
	handle("GET "+base+"/watch", func(w http.ResponseWriter, r *http.Request, s *devcontainer.Set) error {
		watchContainers(w, r, s)
		return nil
	})
	handle("POST "+base+"/devcontainers/{id}/recreate", func(w http.ResponseWriter, r *http.Request, s *devcontainer.Set) error {
		id, _ := uuid.Parse(r.PathValue("id")) // an invalid ID becomes uuid.Nil, which matches none
		err := s.Recreate(id)
		if err == nil {
			answer(w, http.StatusAccepted, codersdk.Response{Message: "The dev container is being rebuilt"})
		}
		return err
	})
	handle("DELETE "+base+"/devcontainers/{id}", func(w http.ResponseWriter, r *http.Request, s *devcontainer.Set) error {
		id, _ := uuid.Parse(r.PathValue("id")) // an invalid ID becomes uuid.Nil, which matches none
		err := s.Delete(context.WithoutCancel(r.Context()), id)
		if err == nil {
			w.WriteHeader(http.StatusNoContent)
		}
		return err
	})
}

// watchEvery is the interval of checks without an event: changed configurations
// cause no event.
const watchEvery = 10 * time.Second

// watchContainers writes the containers as a line of JSON, now and after each
// change.
func watchContainers(w http.ResponseWriter, r *http.Request, s *devcontainer.Set) {
	t := time.NewTicker(watchEvery)
	defer t.Stop()
	flush := http.NewResponseController(w)
	said := ""
	s.List(r.Context(), nil)
	for {
		changed := s.Changed()
		b, err := json.Marshal(s.Snapshot(nil))
		if err == nil && string(b) != said {
			said = string(b)
			if _, err = w.Write(append(b, '\n')); err == nil {
				err = flush.Flush()
			}
		}
		if err != nil {
			return
		}
		select {
		case <-changed:
		case <-t.C:
		case <-r.Context().Done():
			return
		}
	}
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client has disconnected
}

// answerError writes an error with its HTTP status.
func answerError(w http.ResponseWriter, err error) {
	status, ok := map[codersdk.Code]int{
		codersdk.CodeNotFound: http.StatusNotFound, codersdk.CodeConflict: http.StatusConflict, codersdk.CodeForbidden: http.StatusForbidden,
	}[codersdk.CodeOf(err)]
	if !ok {
		status = http.StatusServiceUnavailable
	}
	answer(w, status, codersdk.Response{Message: err.Error()})
}
