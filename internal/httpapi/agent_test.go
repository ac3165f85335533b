package httpapi_test

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/agenttest"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
	"github.com/seed-2a7f8fe7/coder/internal/presence"
)

// agentSite serves the API over a house with agents, to its owner and to a
// stranger.
func agentSite(t *testing.T) (h *agenttest.Fixture, owner, stranger *codersdk.Client) {
	t.Helper()
	h = agenttest.New(t)
	people := identity.New(identity.Config{Store: h.Store, Log: slog.New(slog.DiscardHandler)})
	api := httpapi.New(httpapi.Config{Identity: people, Presence: h.Presence})
	srv := httptest.NewServer(api.Handler())
	t.Cleanup(srv.Close)
	u, err := url.Parse(srv.URL)
	must(t, err)
	as := func(who access.Subject) *codersdk.Client {
		key, err := people.CreateToken(t.Context(), who, "me", codersdk.CreateTokenRequest{})
		must(t, err)
		c := codersdk.New(u)
		c.SessionToken = key.Key
		return c
	}
	return h, as(h.Owner), as(h.Stranger)
}

func hello(t *testing.T, h *agenttest.Fixture, a agenttest.Agent) presence.Agent {
	t.Helper()
	agent, err := h.Presence.AuthenticateAgent(t.Context(), a.Token)
	must(t, err)
	_, err = h.Presence.Hello(t.Context(), presence.Connection{ID: uuid.New(), Agent: agent}, presence.Hello{Version: "v1"})
	must(t, err)
	return agent
}

func TestAgentsOverHTTP(t *testing.T) {
	h, owner, stranger := agentSite(t)
	a := h.Workspace("ws", func(p *provisioner.Agent) {
		p.Metadata = []*provisioner.Agent_Metadata{{Key: "cpu", DisplayName: "CPU", Script: "x", Interval: 1}}
	})
	agent := hello(t, h, a)
	got, err := owner.WorkspaceAgent(t.Context(), a.ID)
	if err != nil || got.ID != a.ID || got.Status != codersdk.WorkspaceAgentStatusConnected || got.Version != "v1" {
		t.Errorf("%v: %+v", err, got)
	}
	_, err = h.Presence.AppendLogs(t.Context(), agent, presence.LogBatch{Source: uuid.New(), Lines: []presence.LogLine{{Output: "one"}, {Level: "error", Output: "two"}}})
	must(t, err)
	lines, err := owner.WorkspaceAgentLogs(t.Context(), a.ID, nil)
	if err != nil || len(lines) != 2 || lines[1].Output != "two" {
		t.Fatalf("%v: %+v", err, lines)
	}
	text, err := owner.Download(t.Context(), "/workspaceagents/"+a.ID.String()+"/logs", url.Values{"format": {"text"}})
	if err != nil || !strings.HasSuffix(string(text), "[error] two\n") {
		t.Errorf("%v: %q", err, text)
	}
	base := "/workspaceagents/" + a.ID.String()
	conn, err := owner.Download(t.Context(), base+"/connection", nil)
	if err != nil || !strings.Contains(string(conn), `"derp_map"`) {
		t.Errorf("%v: %s", err, conn)
	}
	for _, path := range []string{"", "/logs", "/connection", "/listening-ports", "/watch-metadata", "/logs?follow=true"} {
		path, query, _ := strings.Cut(path, "?")
		q, err := url.ParseQuery(query)
		must(t, err)
		if _, err := stranger.Download(t.Context(), base+path, q); !codersdk.Is(err, codersdk.CodeNotFound) {
			t.Errorf("a stranger asks for %s: %v", path, err)
		}
	}
	for path, code := range map[string]codersdk.Code{
		"/workspaceagents/nonsense":            codersdk.CodeInvalid,
		"/workspaceagents/" + uuid.NewString(): codersdk.CodeNotFound,
		base + "/logs?after=x":                 codersdk.CodeInvalid,
		base + "/logs?before=-1":               codersdk.CodeInvalid,
		base + "/logs?format=xml":              codersdk.CodeInvalid,
		base + "/logs?follow=maybe":            codersdk.CodeInvalid,
		base + "/logs?follow=1&format=text":    codersdk.CodeInvalid,
		base + "/listening-ports":              codersdk.CodeInvalid, // nobody can ask the agent here
	} {
		path, query, _ := strings.Cut(path, "?")
		q, err := url.ParseQuery(query)
		must(t, err)
		if _, err := owner.Download(t.Context(), path, q); !codersdk.Is(err, code) {
			t.Errorf("%s?%s: %v, want %s", path, query, err, code)
		}
	}
}

func TestFollowAgentLogs(t *testing.T) {
	h, owner, _ := agentSite(t)
	a := h.Workspace("ws")
	agent := hello(t, h, a)
	say := func(text string) {
		t.Helper()
		_, err := h.Presence.AppendLogs(t.Context(), agent, presence.LogBatch{Source: uuid.New(), Lines: []presence.LogLine{{Output: text}}})
		must(t, err)
	}
	say("one")
	var heard []string
	err := codersdk.Follow(t.Context(), owner, "/workspaceagents/"+a.ID.String()+"/logs", url.Values{"follow": {"true"}}, func(lines []codersdk.WorkspaceAgentLog) error {
		for _, l := range lines {
			heard = append(heard, l.Output)
			switch l.Output {
			case "one":
				say("two")
			case "two":
				must(t, h.Presence.SetLifecycle(t.Context(), agent, codersdk.WorkspaceAgentLifecycleOff, time.Now()))
			}
		}
		return nil
	})
	if err != nil || strings.Join(heard, ",") != "one,two" {
		t.Errorf("%v: %q", err, heard)
	}
}

func TestWatchAgentMetadata(t *testing.T) {
	h, owner, _ := agentSite(t)
	a := h.Workspace("ws", func(p *provisioner.Agent) {
		p.Metadata = []*provisioner.Agent_Metadata{{Key: "cpu", DisplayName: "CPU", Script: "x", Interval: 1}}
	})
	agent := hello(t, h, a)
	base := "/workspaceagents/" + a.ID.String()
	enough := errors.New("enough")
	n := 0
	err := codersdk.Follow(t.Context(), owner, base+"/watch-metadata-ws", nil, func(e struct {
		Type string
		Data []codersdk.WorkspaceAgentMetadata
	}) error {
		if e.Type != "data" {
			return nil
		}
		if n++; n == 1 {
			return h.Presence.PutMetadata(t.Context(), agent, []presence.MetadataValue{{Key: "cpu", Value: "7%"}})
		}
		if e.Data[0].Result.Value != "7%" || e.Data[0].Description.DisplayName != "CPU" {
			t.Errorf("%+v", e.Data)
		}
		return enough
	})
	if !errors.Is(err, enough) {
		t.Error(err)
	}
	resp, err := owner.Request(t.Context(), http.MethodGet, base+"/watch-metadata", nil, nil)
	must(t, err)
	defer resp.Body.Close()
	lines := bufio.NewReader(resp.Body)
	for line := ""; !strings.HasPrefix(line, "data: "); {
		line, err = lines.ReadString('\n')
		if err == io.EOF {
			t.Fatal("no event came")
		}
		must(t, err)
		if strings.HasPrefix(line, "data: ") && !strings.Contains(line, `"value":"7%"`) {
			t.Errorf("%s", line)
		}
	}
}
