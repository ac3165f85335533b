// Package agenttest gives tests of agents a place to be: a database of their
// own with one workspace, and the server's rooms that agents speak with, over
// real sockets.
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

// House is a database with an organization, two members and a template,
// and the packages that serve agents.
type House struct {
	Store     *postgres.Store
	Hub       *notify.Hub
	Presence  *presence.Service
	Board     *switchboard.Board
	Authority *tunnel.Authority
	// Instances believes clouds, nil for none: set it before Serve.
	Instances *instance.Verifier
	// Secrets provides user secrets, nil for none: set it before Serve.
	Secrets agentapi.Secrets
	// Owner owns the workspaces; Stranger is a member of nothing.
	Owner, Stranger access.Subject

	t                        testing.TB
	org, file, tmpl, version uuid.UUID
	tags                     int64
}

// New returns a house that is gone at the end of the test.
func New(t testing.TB, change ...func(*presence.Config)) *House {
	t.Helper()
	return NewOn(t, postgrestest.New(t), change...)
}

// NewOn is New on an empty database of the caller's.
func NewOn(t testing.TB, store *postgres.Store, change ...func(*presence.Config)) *House {
	t.Helper()
	h := &House{t: t, Store: store, org: uuid.New(), file: uuid.New(), tmpl: uuid.New(), version: uuid.New()}
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

// Serve serves agents at an address, "" for any, and gives the URL; until stop
// or the end of the test.
func (h *House) Serve(addr string) (u *url.URL, stop func()) {
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
			h.t.Errorf("stop the agents' API: %v", err)
		}
		srv.CloseClientConnections()
		srv.Close()
	}
	h.t.Cleanup(stop)
	return u, stop
}

// Agent is an agent that a build made.
type Agent struct {
	ID, WorkspaceID, BuildID uuid.UUID
	Token                    string
}

// Workspace makes a workspace whose first build has made an agent; change
// may say more of the agent than its name.
func (h *House) Workspace(name string, change ...func(*provisioner.Agent)) Agent {
	h.t.Helper()
	id := uuid.New()
	h.exec(`INSERT INTO workspaces (id, organization_id, owner_id, template_id, name, created_at, updated_at, last_used_at)
		VALUES ($1, $2, $3, $4, $5, now(), now(), '2020-01-01')`, id, h.org, h.Owner.UserID, h.tmpl, name)
	return h.Build(id, 1, "start", "succeeded", change...)
}

// Build adds a build to a workspace, with an agent if it started and
// succeeded.
func (h *House) Build(workspaceID uuid.UUID, number int, transition codersdk.WorkspaceTransition, status string, change ...func(*provisioner.Agent)) Agent {
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

// job adds a job that has come to an end, or runs.
func (h *House) job(kind, status string) uuid.UUID {
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

func (h *House) user(name string) access.Subject {
	h.t.Helper()
	id := uuid.New()
	h.exec(`INSERT INTO users (id, email, username, login_type, status, ssh_public_key, ssh_private_key, created_at, updated_at)
		VALUES ($1, $2 || '@example.com', $2, 'password', 'active', 'public', 'private', now(), now())`, id, name)
	return access.Subject{UserID: id, Username: name}
}

// Share lets a user, who becomes a member of the organization, use a workspace,
// or with false takes that right back.
func (h *House) Share(workspaceID uuid.UUID, with access.Subject, may bool) {
	h.t.Helper()
	acl := map[string]string{}
	if may {
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

// Delete deletes a workspace.
func (h *House) Delete(workspaceID uuid.UUID) {
	h.t.Helper()
	h.exec(`UPDATE workspaces SET deleted_at = now() WHERE id = $1`, workspaceID)
}

func (h *House) exec(sql string, args ...any) {
	h.t.Helper()
	_, err := h.Store.Pool().Exec(context.Background(), sql, args...)
	h.must(err)
}

func (h *House) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}
