package httpapi_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/agent"
	"github.com/seed-2a7f8fe7/coder/internal/agentapi"
	"github.com/seed-2a7f8fe7/coder/internal/agenttest"
	"github.com/seed-2a7f8fe7/coder/internal/cli/agentcmd"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// TestMain lets the test binary be docker, and the agent in a container.
func TestMain(m *testing.M) {
	agenttest.DockerProgram()
	if len(os.Args) > 1 && os.Args[1] == "agent" {
		os.Exit(agentcmd.Main(context.Background(), os.Args, os.Stdin, os.Stdout, os.Stderr, os.Environ()))
	}
	os.Exit(m.Run())
}

// Containers are listed, watched, brought up again and removed through the API, by
// who may use SSH there.
func TestContainers(t *testing.T) {
	h, d := agenttest.New(t), agenttest.NewDocker(t)
	people := identity.New(identity.Config{Store: h.Store, Hub: h.Hub, Log: slog.New(slog.DiscardHandler)})
	agents := agentapi.New(agentapi.Config{Presence: h.Presence, Board: h.Board, Authority: h.Authority})
	srv := httptest.NewServer(httpapi.New(httpapi.Config{Identity: people, Presence: h.Presence, AgentHTTP: agents.AgentHTTP}).Handler())
	t.Cleanup(srv.Close)
	owner, stranger := codersdk.New(parsed(t, srv.URL)), codersdk.New(parsed(t, srv.URL))
	for c, who := range map[*codersdk.Client]string{owner: "owner", stranger: "stranger"} {
		subject := h.Owner
		if who == "stranger" {
			subject = h.Stranger
		}
		key, err := people.CreateToken(t.Context(), subject, "me", codersdk.CreateTokenRequest{})
		must(t, err)
		c.SessionToken = key.Key
	}
	u, _ := h.Serve("")
	folder := d.Folder("app", `{}`)
	a := h.Workspace("ws", func(p *provisioner.Agent) {
		p.Devcontainers = []*provisioner.Devcontainer{{Name: "app", WorkspaceFolder: folder}}
	})
	if _, err := owner.WorkspaceAgentContainers(t.Context(), a.ID, nil); !codersdk.Is(err, codersdk.CodeInvalid) {
		t.Errorf("of an agent that is not there: %v", err)
	}
	ag, err := agent.New(agent.Config{
		URL: u, Token: a.Token, LogDir: t.TempDir(), Log: slog.New(slog.DiscardHandler), Devcontainers: true,
		Env: append(append(os.Environ(), d.Env()...), "HOME="+t.TempDir()),
	})
	must(t, err)
	must(t, ag.Start(t.Context()))
	t.Cleanup(func() {
		end, cancel := context.WithTimeout(context.Background(), testwait.Limit)
		defer cancel()
		must(t, ag.Stop(end))
	})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	testwait.Until(t, "the agent is connected to the relay", func() bool { return h.Board.Holds(a.ID) })
	watch, err := owner.Dial(ctx, "/workspaceagents/"+a.ID.String()+"/containers/watch", url.Values{})
	must(t, err)
	defer watch.CloseNow()
	await := func(what string, ok func(codersdk.WorkspaceAgentDevcontainer) bool) (dc codersdk.WorkspaceAgentDevcontainer) {
		t.Helper()
		for {
			_, b, err := watch.Read(ctx)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			var all codersdk.WorkspaceAgentListContainersResponse
			must(t, json.Unmarshal(b, &all))
			if len(all.Devcontainers) != 1 {
				t.Fatalf("%s: %s", what, b)
			}
			if dc = all.Devcontainers[0]; ok(dc) {
				return dc
			}
		}
	}
	running := func(dc codersdk.WorkspaceAgentDevcontainer) bool {
		return dc.Status == codersdk.WorkspaceAgentDevcontainerStatusRunning && dc.Agent != nil
	}
	first := await("it runs", running)
	all, err := owner.WorkspaceAgentContainers(t.Context(), a.ID, []string{"devcontainer.local_folder=" + folder})
	if err != nil || len(all.Containers) != 1 || all.Containers[0].Ports[1].HostPort != 8080 || all.Containers[0].Volumes["/a"] != "/b" || all.Warnings == nil {
		t.Errorf("%v: %+v", err, all)
	}
	if _, err := stranger.WorkspaceAgentContainers(t.Context(), a.ID, nil); !codersdk.Is(err, codersdk.CodeNotFound) {
		t.Errorf("a stranger: %v", err)
	}
	if err := stranger.DeleteWorkspaceAgentDevcontainer(t.Context(), a.ID, first.ID); !codersdk.Is(err, codersdk.CodeNotFound) {
		t.Errorf("a stranger: %v", err)
	}
	must(t, owner.RecreateWorkspaceAgentDevcontainer(t.Context(), a.ID, first.ID))
	second := await("it runs again", func(dc codersdk.WorkspaceAgentDevcontainer) bool {
		return running(dc) && dc.Container.ID != first.Container.ID
	})
	_, err = owner.WorkspaceAgentContainers(t.Context(), second.Agent.ID, nil)
	if !codersdk.Is(err, codersdk.CodeForbidden, codersdk.CodeInvalid) { // it may not have connected yet
		t.Errorf("of the agent in it: %v", err)
	}
	must(t, owner.DeleteWorkspaceAgentDevcontainer(t.Context(), a.ID, first.ID))
	await("it is stopped", func(dc codersdk.WorkspaceAgentDevcontainer) bool {
		return dc.Status == codersdk.WorkspaceAgentDevcontainerStatusStopped && dc.Container == nil
	})
	for _, err := range []error{
		owner.RecreateWorkspaceAgentDevcontainer(t.Context(), a.ID, uuid.New()), owner.DeleteWorkspaceAgentDevcontainer(t.Context(), a.ID, uuid.New()),
	} {
		if !codersdk.Is(err, codersdk.CodeNotFound) {
			t.Errorf("one that is not there: %v", err)
		}
	}
}

func parsed(t *testing.T, raw string) *url.URL {
	t.Helper()
	u, err := url.Parse(raw)
	must(t, err)
	return u
}
