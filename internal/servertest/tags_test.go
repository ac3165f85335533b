package servertest_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/echo"
	"github.com/seed-2a7f8fe7/coder/internal/provisionerd"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/servertest"
)

// TestDocumentedRowsLive runs the documented table of tags (PRV-11) with live
// daemons: O is organization scope, U:a the scope of user a; e, dc and dn are
// tags. codersdk runs it on the Go rule, internal/queue on the SQL.
func TestDocumentedRowsLive(t *testing.T) {
	s := servertest.Start(t, func(c *server.Config) { c.Provisioning.Daemons, c.Provisioning.PSK = 0, daemonPSK })
	users := map[string]*codersdk.Client{"": s.Client}
	for _, name := range []string{"a", "b"} {
		users[name], _ = s.Member(t, name, "template-admin")
	}
	other, err := s.Client.CreateOrganization(t.Context(), codersdk.CreateOrganizationRequest{Name: "other"})
	must(t, err)
	archive, err := echo.Archive(map[string]string{"readme.md": "x"})
	must(t, err)
	up, err := s.Client.Upload(t.Context(), "application/x-tar", bytes.NewReader(archive))
	must(t, err)
	tags := map[string][2]string{"e": {"environment", "on-prem"}, "dc": {"datacenter", "chicago"}, "dn": {"datacenter", "new_york"}}
	parse := func(text string) (user string, set map[string]string) {
		set = map[string]string{}
		scope, rest, _ := strings.Cut(text, "+")
		if name, ok := strings.CutPrefix(scope, "U:"); ok {
			user, set["scope"] = name, "user"
		}
		for _, k := range strings.FieldsFunc(rest, func(r rune) bool { return r == '+' }) {
			set[tags[k][0]] = tags[k][1]
		}
		return user, set
	}
	push := func(org, text string) codersdk.TemplateVersion {
		t.Helper()
		user, set := parse(text)
		file := uuid.MustParse(up.Hash)
		if user != "" {
			own, err := users[user].Upload(t.Context(), "application/x-tar", bytes.NewReader(archive))
			must(t, err)
			file = uuid.MustParse(own.Hash)
		}
		v, err := users[user].CreateTemplateVersion(t.Context(), org, codersdk.CreateTemplateVersionRequest{FileID: file, Provisioner: "echo", StorageMethod: "file", Tags: set})
		must(t, err)
		return v
	}
	for i, row := range []struct {
		daemon, job string
		runs        bool
	}{
		{"O", "O", true}, {"O+e", "O+e", true}, {"O+e+dc", "O+e", true}, {"O+e+dc", "O+e+dc", true}, {"U:a", "U:a", true},
		{"U:a+e", "U:a", true}, {"U:a+e", "U:a+e", true}, {"U:a+e+dc", "U:a+e", true}, {"U:a+e+dc", "U:a+e+dc", true}, {"O", "O+e", false},
		{"O+e", "O", false}, {"O+e", "O+e+dc", false}, {"O+e+dn", "O+e+dc", false}, {"U:a", "O", false}, {"U:a", "U:b", false},
		{"O", "U:a", false}, {"O", "U:a+e", false}, {"U:a", "U:a+e", false}, {"U:a+e", "U:a+e+dc", false}, {"U:a+e+dc", "U:a+e+dn", false},
		{"O+e", "O+e", false}, // of another organization
	} {
		org := "default"
		if i == 20 {
			org = other.Name
		}
		user, set := parse(row.daemon)
		name := fmt.Sprint("row", i+1)
		w := provisionerd.WebSocket{Client: users[user], Organization: org, Name: name, Tags: set}
		if user == "" {
			w.PSK = daemonPSK
		}
		stop := echoDaemon(t, s, w)
		v := push("default", row.job)
		wait := v
		if !row.runs {
			wait = push(org, row.daemon) // its own kind, which comes after: had it taken the other, it would have by then
		}
		follow(t, users[user], "/templateversions/"+wait.ID.String()+"/logs")
		own, err := s.Client.ProvisionerJob(t.Context(), org, wait.Job.ID)
		must(t, err)
		if own.Status != codersdk.ProvisionerJobStatusSucceeded || own.WorkerName != name {
			t.Errorf("row %d: a job of tags %v is %s on %q", i+1, own.Tags, own.Status, own.WorkerName)
		}
		j, err := s.Client.ProvisionerJob(t.Context(), "default", v.Job.ID)
		must(t, err)
		if ran := j.Status == codersdk.ProvisionerJobStatusSucceeded; ran != row.runs || !ran && j.Status != codersdk.ProvisionerJobStatusPending {
			t.Errorf("row %d: daemon %s, job %s: it is %s", i+1, row.daemon, row.job, j.Status)
		}
		stop()
		if !row.runs {
			must(t, s.Client.CancelTemplateVersion(t.Context(), v.ID))
		}
	}
}
