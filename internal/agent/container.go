package agent

import (
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/api/agentrpc"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/devcontainer"
)

// newContainers gives the dev containers of a life, nil where there can be none.
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
		one := coder.DeclaredDevcontainer{ID: id, Name: d.Name, WorkspaceFolder: expand(d.WorkspaceFolder, l.workDir(), l.env)}
		if one.ConfigPath = expand(d.ConfigPath, one.WorkspaceFolder, l.env); one.ConfigPath != "" {
			one.ConfigPath = filepath.Clean(one.ConfigPath)
		}
		c.Declared = append(c.Declared, one)
	}
	return devcontainer.New(c)
}

// containerSays gives what takes lines about dev containers: the agent's log, each
// under a source that has the id of its dev container.
func (l *life) containerSays() func(uuid.UUID, string, coder.LogLevel, string) {
	var mu sync.Mutex
	named := map[uuid.UUID]bool{}
	return func(id uuid.UUID, name string, level coder.LogLevel, line string) {
		mu.Lock()
		defer mu.Unlock()
		if !named[id] {
			named[id] = true
			l.reports.add("name of a log source", func(ctx context.Context, _ agentrpc.DRPCAgentClient) error {
				if err := l.server().PutAgentLogSource(ctx, id, "Dev Container: "+name, "/emojis/1f4e6.png"); err != nil { // lines without a name are better than none
					l.log.Warn("the log of a dev container could not be named", "devcontainer", name, "error", err)
				}
				return nil
			})
		}
		if !l.reports.logFull() {
			l.reports.log(id, level, line)
		}
	}
}

// subAgents are the agents in dev containers, as the server has them.
type subAgents struct{ *Agent }

// ask makes a call, and waits for the server while it is away.
func (a subAgents) ask(ctx context.Context, call func(context.Context, agentrpc.DRPCAgentClient) error) error {
	for wait := (client.Redial{Limit: a.c.Backoff}); ; {
		if c := a.control.Load(); c != nil {
			bounded, cancel := context.WithTimeout(ctx, callTimeout)
			err := call(bounded, *c)
			cancel()
			if err == nil || a.control.Load() == c || ctx.Err() != nil {
				return err
			}
		}
		select {
		case <-time.After(wait.Next()):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Create makes the agent of a dev container.
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

// Delete deletes one.
func (a subAgents) Delete(ctx context.Context, id uuid.UUID) error {
	return a.ask(ctx, func(ctx context.Context, c agentrpc.DRPCAgentClient) error {
		_, err := c.DeleteSubAgent(ctx, &agentrpc.SubAgentID{Id: id[:]})
		return err
	})
}

// List gives all.
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
	out.ID, _ = uuid.FromBytes(a.GetId()) // uuid.Nil is nobody's
	out.DevcontainerID, _ = uuid.FromBytes(a.GetDevcontainerId())
	return out
}

// serveContainers answers what the server asks about containers.
func (l *life) serveContainers(mux *http.ServeMux) {
	const base = "/api/v0/containers"
	handle := func(pattern string, f func(http.ResponseWriter, *http.Request, *devcontainer.Set) error) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			err := error(coder.Errorf(coder.CodeForbidden, "Dev containers are turned off in this workspace (CODER_AGENT_DEVCONTAINERS_ENABLE), or its system has none"))
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
		id, _ := uuid.Parse(r.PathValue("id")) // uuid.Nil is none's
		err := s.Recreate(id)
		if err == nil {
			answer(w, http.StatusAccepted, coder.Response{Message: "The dev container is being brought up anew"})
		}
		return err
	})
	handle("DELETE "+base+"/devcontainers/{id}", func(w http.ResponseWriter, r *http.Request, s *devcontainer.Set) error {
		id, _ := uuid.Parse(r.PathValue("id")) // uuid.Nil is none's
		err := s.Delete(context.WithoutCancel(r.Context()), id)
		if err == nil {
			w.WriteHeader(http.StatusNoContent)
		}
		return err
	})
}

// watchEvery is how often what is watched is looked at without news: whether a
// configuration has changed makes none.
const watchEvery = 10 * time.Second

// watchContainers writes what is known of containers, a line of JSON each time that
// it is something else.
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
	_ = json.NewEncoder(w).Encode(body) // the client is gone
}

// answerError says what went wrong, and by the status what kind of failure it is.
func answerError(w http.ResponseWriter, err error) {
	status, ok := map[coder.Code]int{
		coder.CodeNotFound: http.StatusNotFound, coder.CodeConflict: http.StatusConflict, coder.CodeForbidden: http.StatusForbidden,
	}[coder.CodeOf(err)]
	if !ok {
		status = http.StatusServiceUnavailable
	}
	answer(w, status, coder.Response{Message: err.Error()})
}
