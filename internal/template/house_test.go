package template_test

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
	"github.com/seed-2a7f8fe7/coder/internal/template"
	"github.com/seed-2a7f8fe7/coder/internal/testtar"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// house is the template service over a real database and queue, with a
// provisioner that the test plays.
type house struct {
	*template.Service
	queue                  *queue.Service
	store                  *postgres.Store
	org                    uuid.UUID
	admin, member, outside access.Subject
	worker                 queue.Worker
}

func newHouse(t testing.TB) *house {
	t.Helper()
	store := postgrestest.New(t)
	log := slog.New(slog.DiscardHandler)
	q := queue.New(queue.Config{Store: store, Hub: notify.New(store.Pool(), log), Log: log})
	h := &house{store: store, queue: q, org: uuid.New()}
	h.exec(t, `INSERT INTO organizations (id, name, display_name, created_at, updated_at) VALUES ($1, 'acme', 'Acme', now(), now())`, h.org)
	h.admin, h.member, h.outside = h.user(t, "ada", true), h.user(t, "bob", true), h.user(t, "eve", false)
	h.admin.OrganizationRoles[h.org] = []string{access.RoleOrganizationTemplateAdmin}
	h.Service = template.New(template.Config{Store: store, Queue: q, Log: log, AccessURL: &url.URL{Scheme: "https", Host: "coder.test"}})
	if err := q.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { q.Stop(context.Background()) })
	h.worker = queue.Worker{OrganizationID: h.org, Name: "w", Tags: codersdk.NormalizeTags(uuid.Nil, nil), Provisioners: []string{"echo", "terraform"}}
	id, gone, err := q.Hello(t.Context(), queue.Daemon{OrganizationID: h.org, Name: "w", Tags: h.worker.Tags, Provisioners: h.worker.Provisioners})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(gone)
	h.worker.ID = id
	return h
}

func (h *house) exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	if _, err := h.store.Pool().Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

func (h *house) user(t testing.TB, name string, member bool) access.Subject {
	t.Helper()
	s := access.Subject{UserID: uuid.New(), Username: name, OrganizationRoles: map[uuid.UUID][]string{}}
	h.exec(t, `INSERT INTO users (id, email, username, login_type, status, created_at, updated_at) VALUES ($1, $2, $3, 'none', 'active', now(), now())`, s.UserID, name+"@acme.test", name)
	if member {
		h.exec(t, `INSERT INTO organization_members (organization_id, user_id, created_at, updated_at) VALUES ($1, $2, now(), now())`, h.org, s.UserID)
		s.OrganizationRoles[h.org] = nil
	}
	return s
}

func (h *house) upload(t testing.TB, content string) uuid.UUID {
	t.Helper()
	id, _, err := h.UploadFile(t.Context(), h.admin, "application/x-tar", testtar.Of(t, map[string]string{"main.tf": content}))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// create makes a version of new source; change may alter the request.
func (h *house) create(t testing.TB, change func(*codersdk.CreateTemplateVersionRequest)) codersdk.TemplateVersion {
	t.Helper()
	req := codersdk.CreateTemplateVersionRequest{FileID: h.upload(t, uuid.NewString()), StorageMethod: "file", Provisioner: "echo"}
	if change != nil {
		change(&req)
	}
	v, err := h.CreateTemplateVersion(t.Context(), h.admin, h.org, req)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (h *house) acquire(t testing.TB) *provisionerd.AcquiredJob {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testwait.Limit)
	defer cancel()
	job, err := h.queue.Acquire(ctx, h.worker)
	if err != nil {
		t.Fatal(err)
	}
	return job
}

// importing runs the import of the next version as a provisioner would.
func (h *house) importing(t testing.TB, learned *provisionerd.UpdateJobRequest, result *provisionerd.CompletedJob_TemplateImport) *provisionerd.UpdateJobResponse {
	t.Helper()
	job := h.acquire(t)
	var resp *provisionerd.UpdateJobResponse
	var err error
	if learned != nil {
		learned.JobId = job.JobId
		if resp, err = h.queue.Update(t.Context(), h.worker, job.Fence, learned); err != nil {
			t.Fatal(err)
		}
	}
	if result == nil {
		result = &provisionerd.CompletedJob_TemplateImport{}
	}
	err = h.queue.Complete(t.Context(), h.worker, job.Fence, &provisionerd.CompletedJob{JobId: job.JobId, Type: &provisionerd.CompletedJob_TemplateImport_{TemplateImport: result}})
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// template makes a template of an imported version.
func (h *house) template(t testing.TB, name string) codersdk.Template {
	t.Helper()
	v := h.create(t, nil)
	h.importing(t, nil, nil)
	return h.templateOf(t, name, v)
}

func (h *house) templateOf(t testing.TB, name string, v codersdk.TemplateVersion) codersdk.Template {
	t.Helper()
	tpl, err := h.CreateTemplate(t.Context(), h.admin, h.org, codersdk.CreateTemplateRequest{Name: name, TemplateVersionID: v.ID})
	if err != nil {
		t.Fatal(err)
	}
	return tpl
}

// workspace puts a workspace of a version into the database.
func (h *house) workspace(t testing.TB, owner access.Subject, tpl codersdk.Template, version uuid.UUID) uuid.UUID {
	t.Helper()
	id, job := uuid.New(), uuid.New()
	h.exec(t, `INSERT INTO workspaces (id, organization_id, owner_id, template_id, name, created_at, updated_at, last_used_at) VALUES ($1, $2, $3, $4, 'w', now(), now(), now())`, id, h.org, owner.UserID, tpl.ID)
	h.exec(t, `INSERT INTO provisioner_jobs (id, organization_id, initiator_id, type, provisioner, tag_set_id, file_id, input, created_at, updated_at, started_at, completed_at, lease_expires_at, worker_id)
		SELECT $1, organization_id, $2, 'workspace_build', provisioner, tag_set_id, file_id, '{}', now(), now(), now() - interval '2 seconds', now(), now(), $1
		FROM provisioner_jobs WHERE id = (SELECT job_id FROM template_versions WHERE id = $3)`, job, owner.UserID, version)
	h.exec(t, `INSERT INTO workspace_builds (id, workspace_id, template_version_id, build_number, transition, initiator_id, reason, job_id, created_at, updated_at)
		VALUES ($1, $2, $3, 1, 'start', $4, 'initiator', $5, now(), now())`, uuid.New(), id, version, owner.UserID, job)
	return id
}

// wants fails unless err has the code and, somewhere, the words.
func wants(t testing.TB, err error, code codersdk.Code, words string) {
	t.Helper()
	if !codersdk.Is(err, code) || !strings.Contains(err.Error(), words) {
		t.Fatalf("got error %v, want %s with %q", err, code, words)
	}
}

func field(err error) string {
	if e, ok := errors.AsType[*codersdk.Error](err); ok && len(e.Fields) > 0 {
		return e.Fields[0].Field
	}
	return ""
}

func agent(name string) *provisioner.Agent {
	return &provisioner.Agent{Id: uuid.NewString(), Name: name, OperatingSystem: "linux", Architecture: "amd64", Auth: &provisioner.Agent_Token{Token: uuid.NewString()}}
}
