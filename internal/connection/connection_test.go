package connection_test

import (
	"context"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/agenttest"
	"github.com/seed-2a7f8fe7/coder/internal/connection"
)

var from = access.Origin{IP: netip.MustParseAddr("192.0.2.7"), UserAgent: "test \xff\x00" + strings.Repeat("x", 2000)}

func TestConnections(t *testing.T) {
	h := agenttest.New(t)
	w := h.Workspace("dev")
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	changes := 0
	server := func() *connection.Service {
		return connection.New(connection.Config{Store: h.Store, Changed: func() { changes++ }, Now: func() time.Time { return now }, ReplicaID: uuid.New(), Retention: 24 * time.Hour})
	}
	s := server()
	all := func(f connection.Search) codersdk.ConnectionLogResponse {
		t.Helper()
		if err := s.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.Limit = 100
		out, err := s.Logs(t.Context(), access.System(), f)
		if err != nil {
			t.Fatal(err)
		}
		if int(out.Count) != len(out.ConnectionLogs) {
			t.Errorf("counted %d of %d", out.Count, len(out.ConnectionLogs))
		}
		return out
	}
	over := s.Open(connection.Connection{Type: codersdk.ConnectionTypeSSH, AgentID: w.ID, UserID: h.Owner.UserID, Origin: from})
	for range 5 {
		s.Visit(connection.Connection{Type: codersdk.ConnectionTypeWorkspaceApp, AgentID: w.ID, UserID: h.Owner.UserID, Origin: from, App: "code", Status: 200})
	}
	s.Visit(connection.Connection{Type: codersdk.ConnectionTypePortForwarding, AgentID: w.ID, App: "8080", Status: 502})
	s.Open(connection.Connection{Type: codersdk.ConnectionTypeSSH, AgentID: uuid.New()})("of an agent that is gone")

	logs := all(connection.Search{})
	all(connection.Search{})
	if changes != 1 {
		t.Errorf("told %d times of what was written once", changes)
	}
	if len(logs.ConnectionLogs) != 3 {
		t.Fatalf("%d entries: %+v", len(logs.ConnectionLogs), logs.ConnectionLogs)
	}
	ssh := all(connection.Search{Type: codersdk.ConnectionTypeSSH}).ConnectionLogs[0]
	if ssh.WorkspaceName != "dev" || ssh.IP != "192.0.2.7" || ssh.SSHInfo == nil || ssh.WebInfo != nil || ssh.SSHInfo.DisconnectTime != nil ||
		ssh.SSHInfo.User == nil || ssh.SSHInfo.User.ID != h.Owner.UserID || !ssh.ConnectTime.Equal(now) || ssh.Organization.Name == "" || ssh.WorkspaceOwnerUsername == "" {
		t.Errorf("SSH: %+v %+v", ssh, ssh.SSHInfo)
	}
	app := all(connection.Search{Type: codersdk.ConnectionTypeWorkspaceApp}).ConnectionLogs[0]
	if app.WebInfo == nil || app.SSHInfo != nil || app.WebInfo.SlugOrPort != "code" || app.WebInfo.StatusCode != 200 || app.WebInfo.User == nil {
		t.Errorf("an app: %+v %+v", app, app.WebInfo)
	}
	port := all(connection.Search{Type: codersdk.ConnectionTypePortForwarding}).ConnectionLogs[0]
	if port.WebInfo == nil || port.WebInfo.User != nil || port.WebInfo.StatusCode != 502 || port.IP != "" {
		t.Errorf("a port: %+v %+v", port, port.WebInfo)
	}
	if n := len(all(connection.Search{Status: "ongoing"}).ConnectionLogs); n != 1 {
		t.Errorf("%d last", n)
	}
	now = now.Add(time.Minute)
	over("The client left")
	over("twice")
	ssh = all(connection.Search{ConnectionID: ssh.ID, Status: "completed", Username: ssh.SSHInfo.User.Username, Owner: ssh.WorkspaceOwnerUsername, WorkspaceID: ssh.WorkspaceID}).ConnectionLogs[0]
	if ssh.SSHInfo.DisconnectTime == nil || !ssh.SSHInfo.DisconnectTime.Equal(now) || ssh.SSHInfo.DisconnectReason != "The client left" {
		t.Errorf("after its end: %+v", ssh.SSHInfo)
	}
	for name, f := range map[string]connection.Search{
		"user": {Username: "nobody"}, "owner": {OwnerEmail: "nobody@example.com"}, "organization": {OrganizationID: uuid.New()}, "after": {After: &now},
	} {
		if n := len(all(f).ConnectionLogs); n != 0 {
			t.Errorf("%s: %d entries", name, n)
		}
	}
	if _, err := s.Logs(t.Context(), h.Owner, connection.Search{Limit: 1}); err == nil && !h.Owner.IsOwner() {
		t.Error("a member reads the log")
	}

	// A visit an hour later is another.
	now = now.Add(time.Hour)
	s.Visit(connection.Connection{Type: codersdk.ConnectionTypeWorkspaceApp, AgentID: w.ID, UserID: h.Owner.UserID, Origin: from, App: "code", Status: 200})
	if n := len(all(connection.Search{Type: codersdk.ConnectionTypeWorkspaceApp}).ConnectionLogs); n != 2 {
		t.Errorf("%d visits", n)
	}

	// What a server left open that is no more, another ends; and what is old
	// goes.
	s.Open(connection.Connection{Type: codersdk.ConnectionTypeSSH, AgentID: w.ID})
	if n := len(all(connection.Search{Status: "ongoing"}).ConnectionLogs); n != 1 {
		t.Errorf("%d last", n)
	}
	if _, err := server().Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(all(connection.Search{Status: "ongoing"}).ConnectionLogs); n != 0 {
		t.Errorf("%d last after their server ended", n)
	}
	now = now.Add(24*time.Hour - time.Minute)
	if n, err := s.Purge(t.Context()); err != nil || n != 3 {
		t.Errorf("%d were old, %v", n, err)
	}
	if n := len(all(connection.Search{}).ConnectionLogs); n != 2 {
		t.Errorf("%d are left", n)
	}
}

// TestWhatIsNotedIsWrittenAtTheEnd: a server that stops writes first.
func TestWhatIsNotedIsWrittenAtTheEnd(t *testing.T) {
	h := agenttest.New(t)
	w := h.Workspace("dev")
	s := connection.New(connection.Config{Store: h.Store, ReplicaID: uuid.New()})
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Open(connection.Connection{Type: codersdk.ConnectionTypeReconnectingPTY, AgentID: w.ID})("done")
	if err := s.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	out, err := s.Logs(t.Context(), access.System(), connection.Search{Limit: 10})
	if err != nil || out.Count != 1 || out.ConnectionLogs[0].SSHInfo.DisconnectReason != "done" {
		t.Errorf("%+v, %v", out, err)
	}
}

// BenchmarkOpen is what the way into a workspace pays.
func BenchmarkOpen(b *testing.B) {
	s := connection.New(connection.Config{})
	c := connection.Connection{Type: codersdk.ConnectionTypeWorkspaceApp, AgentID: uuid.New(), UserID: uuid.New(), Origin: from, App: "code"}
	for b.Loop() {
		s.Visit(c)
	}
}
