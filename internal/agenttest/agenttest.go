// Package agenttest provides a server for tests of agents: a database with a
// template and workspaces, and the API that agents call, over real sockets. It
// also provides stand-ins for the docker and devcontainer commands.
package agenttest

import (
	"context"
	"log/slog"
	"net"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/agentapi"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
	"github.com/seed-2a7f8fe7/coder/internal/instance"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
	"github.com/seed-2a7f8fe7/coder/internal/presence"
	"github.com/seed-2a7f8fe7/coder/internal/resource"
	"github.com/seed-2a7f8fe7/coder/internal/switchboard"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

// Fixture is a database with an organization, two users and a template, and the
// services that serve agents.
type Fixture struct {
	Store     *postgres.Store
	Hub       *notify.Hub
	Presence  *presence.Service
	Board     *switchboard.Board
	Authority *tunnel.Authority
	// Instances verifies cloud instance identities; nil for none. Set it before Serve.
	Instances *instance.Verifier
	// Secrets provides user secrets; nil for none. Set it before Serve.
	Secrets agentapi.Secrets
	// Owner owns the workspaces. Stranger is not a member of any organization.
	Owner, Stranger access.Subject

	t                        testing.TB
	org, file, tmpl, version uuid.UUID
	tags                     int64
}

// New returns a fixture on a new database. The test's cleanup stops it. Each
// change edits the configuration of the presence service.
func New(t testing.TB, change ...func(*presence.Config)) *Fixture {
	t.Helper()
	return NewOn(t, postgrestest.New(t), change...)
}

// NewOn is like New, but uses the caller's store, whose database must be empty.
func NewOn(t testing.TB, store *postgres.Store, change ...func(*presence.Config)) *Fixture {
	t.Helper()
	h := &Fixture{t: t, Store: store, org: uuid.New(), file: uuid.New(), tmpl: uuid.New(), version: uuid.New()}
	log := slog.New(slog.DiscardHandler)
	h.Hub = notify.New(h.Store.Pool(), log)
	h.must(h.Hub.Start(t.Context()))
	t.Cleanup(func() { h.must(h.Hub.Stop(context.Background())) })
	var err error
	h.Authority, err = tunnel.NewAuthority([]byte(strings.Repeat("a", tunnel.SeedSize)))
	h.must(err)
	h.exec(`INSERT INTO organizations (id, name, is_default, created_at, updated_at) VALUES ($1, 'main', true, now(), now())`, h.org)
	h.Owner, h.Stranger = h.user("ann"), h.user("bob")
	h.exec(`INSERT INTO organization_members (organization_id, user_id, created_at, updated_at) VALUES ($1, $2, now(), now())`, h.org, h.Owner.UserID)
	h.Owner.OrganizationRoles = map[uuid.UUID][]string{h.org: nil}
	h.exec(`INSERT INTO files (id, hash, created_by, mimetype, data, created_at) VALUES ($1, 'h', $2, 'application/x-tar', '', now())`, h.file, h.Owner.UserID)
	h.must(h.Store.Pool().QueryRow(t.Context(),
		`INSERT INTO job_tag_sets (organization_id, key, tags) VALUES ($1, 'k', '{}') RETURNING id`, h.org).Scan(&h.tags))
	h.exec(`INSERT INTO template_versions (id, organization_id, job_id, name, created_by, created_at, updated_at) VALUES ($1, $2, $3, 'v1', $4, now(), now())`,
		h.version, h.org, h.job("template_version_import", "succeeded"), h.Owner.UserID)
	h.exec(`INSERT INTO templates (id, organization_id, name, provisioner, active_version_id, created_by, created_at, updated_at)
		VALUES ($1, $2, 'tmpl', 'echo', $3, $4, now(), now())`, h.tmpl, h.org, h.version, h.Owner.UserID)
	h.exec(`UPDATE template_versions SET template_id = $1 WHERE id = $2`, h.tmpl, h.version)
	c := presence.Config{
		Store: h.Store, Hub: h.Hub, ReplicaID: uuid.New(), AccessURL: "https://coder.example",
		ClientCA: h.Authority.Certificate(), HostKeySecret: []byte("secret"),
	}
	for _, f := range change {
		f(&c)
	}
	h.Presence = presence.New(c)
	h.must(h.Presence.Start(t.Context()))
	t.Cleanup(func() { h.must(h.Presence.Stop(context.Background())) })
	h.Board = switchboard.New(switchboard.Config{
		Store: h.Store, Replica: switchboard.Replica{ID: c.ReplicaID, Version: "test"}, Authority: h.Authority, Log: log,
	})
	h.must(h.Board.Start(t.Context()))
	t.Cleanup(func() { h.must(h.Board.Stop(context.Background())) })
	return h
}

// Serve serves the agent API at addr, or at a free local port if addr is "". It
// returns the URL. The server runs until stop is called or the test ends.
func (h *Fixture) Serve(addr string) (u *url.URL, stop func()) {
	h.t.Helper()
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", addr)
	h.must(err)
	api := agentapi.New(agentapi.Config{
		Presence: h.Presence, Board: h.Board, Authority: h.Authority, Instances: h.Instances, Secrets: h.Secrets,
		Identity: identity.New(identity.Config{Store: h.Store, Hub: h.Hub, Log: slog.New(slog.DiscardHandler)}),
	})
	srv := httptest.NewUnstartedServer(api.Handler())
	srv.Listener.Close()
	srv.Listener = l
	srv.Start()
	u, err = url.Parse(srv.URL)
	h.must(err)
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		ctx, cancel := context.WithTimeout(context.Background(), testwait.Limit)
		defer cancel()
		if err := api.Stop(ctx); err != nil {
			h.t.Errorf("stop the agent API: %v", err)
		}
		srv.CloseClientConnections()
		srv.Close()
	}
	h.t.Cleanup(stop)
	return u, stop
}

// Agent is an agent that a build created.
type Agent struct {
	ID, WorkspaceID, BuildID uuid.UUID
	Token                    string
}

// Workspace creates a workspace whose first build has succeeded, and returns the
// agent of that build. Each change edits the agent before it is stored.
func (h *Fixture) Workspace(name string, change ...func(*provisioner.Agent)) Agent {
	h.t.Helper()
	id := uuid.New()
	h.exec(`INSERT INTO workspaces (id, organization_id, owner_id, template_id, name, created_at, updated_at, last_used_at)
		VALUES ($1, $2, $3, $4, $5, now(), now(), '2020-01-01')`, id, h.org, h.Owner.UserID, h.tmpl, name)
	return h.Build(id, 1, "start", "succeeded", change...)
}

// Build adds a build to a workspace. The build has an agent if it is a start
// that succeeded.
func (h *Fixture) Build(workspaceID uuid.UUID, number int, transition codersdk.WorkspaceTransition, status string, change ...func(*provisioner.Agent)) Agent {
	h.t.Helper()
	job := h.job("workspace_build", status)
	a := Agent{WorkspaceID: workspaceID, BuildID: uuid.New(), Token: uuid.NewString()}
	h.exec(`INSERT INTO workspace_builds (id, workspace_id, template_version_id, build_number, transition, initiator_id, reason, job_id, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, 'initiator', $7, now(), now())`, a.BuildID, workspaceID, h.version, number, string(transition), h.Owner.UserID, job)
	if transition != codersdk.WorkspaceTransitionStart || status != "succeeded" {
		return Agent{WorkspaceID: workspaceID, BuildID: a.BuildID}
	}
	p := &provisioner.Agent{
		Name: "main", OperatingSystem: "linux", Architecture: "amd64", ConnectionTimeoutSeconds: 120,
		Auth: &provisioner.Agent_Token{Token: a.Token},
	}
	for _, f := range change {
		f(p)
	}
	a.Token = p.GetToken()
	now := time.Now()
	h.must(h.Store.Tx(context.Background(), func(q *sqlc.Queries) error {
		return resource.Insert(context.Background(), q, job, transition,
			[]*provisioner.Resource{{Name: "dev", Type: "machine", Agents: []*provisioner.Agent{p}}}, resource.Options{Now: now})
	}))
	loaded, err := resource.Load(context.Background(), h.Store.Queries, now, []uuid.UUID{job})
	h.must(err)
	a.ID = loaded[job][0].Agents[0].ID
	return a
}

// job adds a job: completed if status is succeeded or failed, else running.
func (h *Fixture) job(kind, status string) uuid.UUID {
	h.t.Helper()
	id := uuid.New()
	h.exec(
		`INSERT INTO provisioner_jobs (id, organization_id, initiator_id, type, provisioner, tag_set_id, file_id, input, created_at, updated_at, started_at, worker_id, lease_expires_at)
		VALUES ($1, $2, $3, $4, 'echo', $5, $6, '{}', now(), now(), now(), gen_random_uuid(), now() + interval '1 hour')`,
		id,
		h.org,
		h.Owner.UserID,
		kind,
		h.tags,
		h.file,
	)
	switch status {
	case "succeeded":
		h.exec(`UPDATE provisioner_jobs SET completed_at = now() WHERE id = $1`, id)
	case "failed":
		h.exec(`UPDATE provisioner_jobs SET completed_at = now(), error = 'broken' WHERE id = $1`, id)
	}
	return id
}

func (h *Fixture) user(name string) access.Subject {
	h.t.Helper()
	id := uuid.New()
	h.exec(`INSERT INTO users (id, email, username, login_type, status, ssh_public_key, ssh_private_key, created_at, updated_at)
		VALUES ($1, $2 || '@example.com', $2, 'password', 'active', 'public', 'private', now(), now())`, id, name)
	return access.Subject{UserID: id, Username: name}
}

// Share grants a user the right to use a workspace and makes that user a member
// of the organization. If allow is false, Share revokes all rights of users that
// the workspace is shared with.
func (h *Fixture) Share(workspaceID uuid.UUID, with access.Subject, allow bool) {
	h.t.Helper()
	acl := map[string]string{}
	if allow {
		acl[with.UserID.String()] = string(codersdk.WorkspaceRoleUse)
		h.exec(
			`INSERT INTO organization_members (organization_id, user_id, created_at, updated_at) VALUES ($1, $2, now(), now()) ON CONFLICT DO NOTHING`,
			h.org,
			with.UserID,
		)
	}
	h.exec(`UPDATE workspaces SET user_acl = $2 WHERE id = $1`, workspaceID, acl)
	h.Hub.Publish(notify.Sharing(workspaceID))
}

// Delete marks a workspace as deleted.
func (h *Fixture) Delete(workspaceID uuid.UUID) {
	h.t.Helper()
	h.exec(`UPDATE workspaces SET deleted_at = now() WHERE id = $1`, workspaceID)
}

func (h *Fixture) exec(sql string, args ...any) {
	h.t.Helper()
	_, err := h.Store.Pool().Exec(context.Background(), sql, args...)
	h.must(err)
}

func (h *Fixture) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}
