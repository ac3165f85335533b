package presence_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/agenttest"
	"github.com/seed-2a7f8fe7/coder/internal/presence"
)

func TestSubAgents(t *testing.T) {
	h := agenttest.New(t)
	made := h.Workspace("ws", func(p *provisioner.Agent) {
		p.Devcontainers = []*provisioner.Devcontainer{{
			Name: "app", WorkspaceFolder: "~/app", ConfigPath: "x.json", Envs: []*provisioner.Env{{Name: "C", Value: "d"}},
			Apps: []*provisioner.App{{Slug: "three", Url: "http://localhost:3"}}, Scripts: []*provisioner.Script{{DisplayName: "Hi", Script: "true", RunOnStart: true}},
		}}
	})
	parent, err := h.Presence.AuthenticateAgent(t.Context(), made.Token)
	must(t, err)
	m, err := h.Presence.Hello(t.Context(), presence.Connection{ID: uuid.New(), Agent: parent}, presence.Hello{})
	must(t, err)
	if len(m.Devcontainers) != 1 || m.Devcontainers[0].ID == uuid.Nil || m.Devcontainers[0].WorkspaceFolder != "~/app" || m.Parent != nil {
		t.Errorf("the manifest has %+v", m.Devcontainers)
	}
	want := presence.NewSubAgent{
		DevcontainerID: m.Devcontainers[0].ID, Name: "main", Directory: "/w", Architecture: "amd64", OperatingSystem: "linux",
		DisplayApps: []string{"web_terminal", "web_terminal", "nonsense"}, Environment: map[string]string{"A": "b"},
		Apps: []codersdk.WorkspaceApp{{Slug: "two", URL: "http://localhost:2", SharingLevel: "world"}, {Slug: "one", OpenIn: codersdk.WorkspaceAppOpenInTab, SharingLevel: codersdk.WorkspaceAppSharingLevelPublic}},
	}
	first, token, err := h.Presence.CreateSubAgent(t.Context(), parent, want)
	must(t, err)
	if first.Name != "main-2" { // the name of its parent is taken
		t.Errorf("it is called %q", first.Name)
	}
	child, err := h.Presence.AuthenticateAgent(t.Context(), token)
	must(t, err)
	told, err := h.Presence.Hello(t.Context(), presence.Connection{ID: uuid.New(), Agent: child}, presence.Hello{})
	must(t, err)
	if child.ID != first.ID || *told.Parent != parent.ID || told.Directory != "/w" || told.Environment["A"] != "b" || told.Environment["C"] != "d" || len(told.Scripts) != 1 || child.WorkspaceID != parent.WorkspaceID {
		t.Errorf("%+v is told %+v", child, told)
	}
	shown, err := h.Presence.View(t.Context(), h.Owner, first.ID)
	must(t, err)
	if *shown.ParentID != parent.ID || len(shown.DisplayApps) != 1 || len(shown.Apps) != 3 || shown.Apps[2].Slug != "three" || len(shown.LogSources) != 1 || shown.Apps[0].Slug != "two" || shown.Apps[0].DisplayName != "two" ||
		shown.Apps[0].SharingLevel != codersdk.WorkspaceAppSharingLevelOwner || shown.Apps[1].OpenIn != codersdk.WorkspaceAppOpenInTab || shown.Apps[1].SharingLevel != codersdk.WorkspaceAppSharingLevelOwner { // the template lets no port be shared
		t.Errorf("%+v", shown)
	}

	want.Directory, want.Apps = "/other", want.Apps[:1]
	again, fresh, err := h.Presence.CreateSubAgent(t.Context(), parent, want)
	must(t, err)
	if again != first || fresh == token {
		t.Errorf("%+v became %+v", first, again)
	}
	if _, err := h.Presence.AuthenticateAgent(t.Context(), token); !codersdk.Is(err, codersdk.CodeUnauthenticated) {
		t.Errorf("the older token: %v", err)
	}
	if shown, err = h.Presence.View(t.Context(), h.Owner, first.ID); err != nil || shown.Directory != "/other" || len(shown.Apps) != 2 {
		t.Errorf("%v: %+v", err, shown)
	}
	if _, _, err := h.Presence.CreateSubAgent(t.Context(), child, want); !codersdk.Is(err, codersdk.CodeForbidden) {
		t.Errorf("below one that is below another: %v", err)
	}
	other := h.Workspace("other")
	stranger, err := h.Presence.AuthenticateAgent(t.Context(), other.Token)
	must(t, err)
	must(t, h.Presence.DeleteSubAgent(t.Context(), stranger, first.ID)) // it is none of its own
	if all, err := h.Presence.SubAgents(t.Context(), parent); err != nil || len(all) != 1 || all[0] != first {
		t.Errorf("%v: %+v", err, all)
	}
	must(t, h.Presence.DeleteSubAgent(t.Context(), parent, parent.ID)) // nor itself
	must(t, h.Presence.DeleteSubAgent(t.Context(), parent, first.ID))
	must(t, h.Presence.DeleteSubAgent(t.Context(), parent, first.ID))
	if _, err := h.Presence.AuthenticateAgent(t.Context(), fresh); !codersdk.Is(err, codersdk.CodeUnauthenticated) {
		t.Errorf("one that was deleted: %v", err)
	}
	if _, err := h.Presence.AuthenticateAgent(t.Context(), made.Token); err != nil {
		t.Errorf("its parent: %v", err)
	}
}

func TestSubAgentsHaveLimits(t *testing.T) {
	h := agenttest.New(t)
	parent, err := h.Presence.AuthenticateAgent(t.Context(), h.Workspace("ws").Token)
	must(t, err)
	one := func(change func(*presence.NewSubAgent)) error {
		n := presence.NewSubAgent{DevcontainerID: uuid.New(), Name: "box"}
		change(&n)
		_, _, err := h.Presence.CreateSubAgent(t.Context(), parent, n)
		return err
	}
	for what, change := range map[string]func(*presence.NewSubAgent){
		"no dev container": func(n *presence.NewSubAgent) { n.DevcontainerID = uuid.Nil },
		"no name":          func(n *presence.NewSubAgent) { n.Name = "" },
		"a bad name":       func(n *presence.NewSubAgent) { n.Name = "a--b" },
		"a long name":      func(n *presence.NewSubAgent) { n.Name = strings.Repeat("a", 33) },
		"a bad slug":       func(n *presence.NewSubAgent) { n.Apps = []codersdk.WorkspaceApp{{Slug: "A"}} },
		"a slug twice":     func(n *presence.NewSubAgent) { n.Apps = []codersdk.WorkspaceApp{{Slug: "a"}, {Slug: "a"}} },
		"an app for tokens": func(n *presence.NewSubAgent) {
			n.Apps = []codersdk.WorkspaceApp{{Slug: "a", External: true, URL: "x://y?t=$SESSION_TOKEN"}}
		},
		"too many apps": func(n *presence.NewSubAgent) { n.Apps = make([]codersdk.WorkspaceApp, 65) },
	} {
		if err := one(change); !codersdk.Is(err, codersdk.CodeInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for range presence.SubAgentLimit {
		must(t, one(func(*presence.NewSubAgent) {}))
	}
	if err := one(func(*presence.NewSubAgent) {}); !codersdk.Is(err, codersdk.CodeConflict) {
		t.Errorf("one too many: %v", err)
	}
	all, err := h.Presence.SubAgents(t.Context(), parent)
	must(t, err)
	names := map[string]bool{}
	for _, a := range all {
		names[a.Name] = true
	}
	if len(names) != presence.SubAgentLimit || !names["box"] || !names[fmt.Sprintf("box-%d", presence.SubAgentLimit)] {
		t.Errorf("names: %v", names)
	}
}
