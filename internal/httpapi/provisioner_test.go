package httpapi_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/echo"
	"github.com/seed-2a7f8fe7/coder/internal/provisionerd"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/servertest"
)

// raw returns status and text of a GET.
func raw(t *testing.T, c *codersdk.Client, path string, q url.Values, header http.Header) (int, string) {
	t.Helper()
	cl := *c
	cl.Header = header
	resp, err := cl.Request(t.Context(), http.MethodGet, path, q, nil)
	must(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	must(t, err)
	return resp.StatusCode, string(b)
}

func TestJobLogsOverHTTP(t *testing.T) {
	s := servertest.Start(t, nil)
	v := push(t, s.Client, map[string]string{"plan.start.jsonl": `{"log": {"level": "WARN", "output": "one"}}` + "\n" + `{"log": {"level": "INFO", "output": "two"}}`}, nil)
	path := "/templateversions/" + v.ID.String() + "/logs"

	all, err := s.Client.TemplateVersionLogs(t.Context(), v.ID, nil)
	must(t, err)
	i := slices.IndexFunc(all, func(l codersdk.ProvisionerJobLog) bool { return l.Output == "one" })
	if i < 0 || all[i].LogLevel != codersdk.LogLevelWarn || all[i].LogSource != codersdk.LogSourceProvisioner || all[i+1].Output != "two" {
		t.Fatalf("the log is %+v", all)
	}
	some, err := s.Client.TemplateVersionLogs(t.Context(), v.ID, url.Values{"after": {fmt.Sprint(all[i].ID)}})
	must(t, err)
	if len(some) != len(all)-i-1 || some[0].Output != "two" {
		t.Errorf("after %d: %+v", all[i].ID, some)
	}
	some, err = s.Client.TemplateVersionLogs(t.Context(), v.ID, url.Values{"before": {fmt.Sprint(all[i].ID)}})
	must(t, err)
	if len(some) != i {
		t.Errorf("before %d: %+v", all[i].ID, some)
	}
	var followed []codersdk.ProvisionerJobLog
	must(t, codersdk.Follow(t.Context(), s.Client, path, url.Values{"follow": {""}, "after": {fmt.Sprint(all[0].ID)}}, func(l codersdk.ProvisionerJobLog) error {
		followed = append(followed, l)
		return nil
	}))
	if len(followed) != len(all)-1 || followed[0].ID != all[1].ID {
		t.Errorf("followed %d lines of %d", len(followed), len(all))
	}
	status, body := raw(t, s.Client, path, url.Values{"format": {"text"}}, nil)
	if status != 200 || !regexp.MustCompile(`(?m)^\d{4}-\S+Z \[warn\] \[provisioner\|[^]]+\] one$`).MatchString(body) {
		t.Errorf("as text, status %d: %s", status, body)
	}
	for _, bad := range []url.Values{{"format": {"xml"}}, {"format": {"text"}, "follow": {"true"}}, {"follow": {"perhaps"}}, {"after": {"x"}}, {"before": {"-1"}}, {"follow": {"true"}, "before": {"7"}}} {
		if status, body := raw(t, s.Client, path, bad, nil); status != 400 || !strings.Contains(body, "validations") {
			t.Errorf("%v: status %d: %s", bad, status, body)
		}
	}
}

func TestProvisionersOverHTTP(t *testing.T) {
	s := servertest.Start(t, func(c *server.Config) { c.Provisioning.Daemons = 0 })
	ctx, c := t.Context(), s.Client
	key, err := c.CreateProvisionerKey(ctx, "default", codersdk.CreateProvisionerKeyRequest{Name: "far"})
	must(t, err)
	keys, err := c.ProvisionerKeys(ctx, "default")
	must(t, err)
	if len(keys) != 1 || keys[0].Name != "far" || keys[0].ID == uuid.Nil {
		t.Fatalf("keys are %+v", keys)
	}
	anon := codersdk.New(c.URL)
	if status, body := raw(t, anon, "/provisionerkeys/"+key.Key, nil, nil); status != 200 || !strings.Contains(body, `"name":"far"`) || strings.Contains(body, key.Key) {
		t.Errorf("key by its secret: %d %s", status, body)
	}
	if status, body := raw(t, anon, "/provisionerkeys/x", nil, http.Header{"Coder-Provisioner-Daemon-Key": {key.Key}}); status != 200 {
		t.Errorf("key by its header: %d %s", status, body)
	}
	if status, _ := raw(t, anon, "/provisionerkeys/nonsense", nil, nil); status != 401 {
		t.Errorf("unknown key: %d", status)
	}

	d, err := provisionerd.New(provisionerd.Config{
		Dial: provisionerd.WebSocket{Client: anon, Key: key.Key, Name: "far-1", Provisioners: []string{"echo"}, Version: "v9"}.Dial,
		Name: "far-1", Engines: map[string]provisioner.Engine{"echo": echo.New()},
	})
	must(t, err)
	must(t, d.Start(ctx))
	v := push(t, c, map[string]string{"README.md": "hello"}, nil)
	must(t, d.Stop(ctx))
	if v.Job.Status != codersdk.ProvisionerJobStatusSucceeded || v.Job.WorkerName != "far-1" {
		t.Fatalf("the import: %+v", v.Job)
	}

	jobs, err := c.ProvisionerJobs(ctx, "default", url.Values{"status": {"succeeded,failed"}, "ids": {v.Job.ID.String()}, "tags": {`{"scope": "organization"}`}, "initiator": {"admin"}, "limit": {"3"}})
	must(t, err)
	if len(jobs) != 1 || jobs[0].ID != v.Job.ID || jobs[0].Type != codersdk.ProvisionerJobTypeTemplateVersionImport || jobs[0].Metadata.TemplateVersionName != v.Name {
		t.Errorf("jobs are %+v", jobs)
	}
	none, err := c.ProvisionerJobs(ctx, "default", url.Values{"status": {"pending"}})
	must(t, err)
	if len(none) != 0 {
		t.Errorf("pending are %+v", none)
	}
	job, err := c.ProvisionerJob(ctx, "default", v.Job.ID)
	must(t, err)
	if job.ID != v.Job.ID {
		t.Errorf("the job is %+v", job)
	}
	if _, err := c.ProvisionerJob(ctx, "default", uuid.New()); !codersdk.Is(err, codersdk.CodeNotFound) {
		t.Errorf("no such job: %v", err)
	}
	daemons, err := c.ProvisionerDaemons(ctx, "default", nil)
	must(t, err)
	if len(daemons) != 1 || daemons[0].KeyName != "far" || daemons[0].PreviousJob == nil || daemons[0].PreviousJob.ID != v.Job.ID || daemons[0].CurrentJob != nil || daemons[0].Version != "v9" {
		t.Errorf("daemons are %+v", daemons)
	}
	for path, bad := range map[string]url.Values{
		"/provisionerjobs": {"status": {"lost"}}, "/provisionerjobs?": {"ids": {"x"}}, "/provisionerdaemons": {"status": {"succeeded"}},
		"/provisionerdaemons?": {"tags": {"a=b"}}, "/provisionerjobs??": {"limit": {"-1"}},
	} {
		if status, body := raw(t, c, "/organizations/default"+strings.TrimRight(path, "?"), bad, nil); status != 400 {
			t.Errorf("%s %v: status %d: %s", path, bad, status, body)
		}
	}
	member, _ := s.Member(t, "mira")
	if _, err := member.CreateProvisionerKey(ctx, "default", codersdk.CreateProvisionerKeyRequest{Name: "mine"}); !codersdk.Is(err, codersdk.CodeForbidden) {
		t.Errorf("a member makes a key: %v", err)
	}
	must(t, c.DeleteProvisionerKey(ctx, "default", "FAR"))
	if err := c.DeleteProvisionerKey(ctx, "default", "far"); !codersdk.Is(err, codersdk.CodeNotFound) {
		t.Errorf("deleting it again: %v", err)
	}
}
