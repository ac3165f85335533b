package httpapi_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/echo"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/servertest"
)

// push makes a version of scripted files and waits for the end of its import.
func push(t *testing.T, c *codersdk.Client, files map[string]string, change func(*codersdk.CreateTemplateVersionRequest)) codersdk.TemplateVersion {
	t.Helper()
	tar, err := echo.Archive(files)
	must(t, err)
	up, err := c.Upload(t.Context(), "application/x-tar", bytes.NewReader(tar))
	must(t, err)
	req := codersdk.CreateTemplateVersionRequest{FileID: uuid.MustParse(up.Hash), Provisioner: "echo", StorageMethod: "file"}
	if change != nil {
		change(&req)
	}
	v, err := c.CreateTemplateVersion(t.Context(), "default", req)
	must(t, err)
	must(t, codersdk.Follow(t.Context(), c, "/templateversions/"+v.ID.String()+"/logs", url.Values{"follow": {"true"}}, func(codersdk.ProvisionerJobLog) error { return nil }))
	v, err = c.TemplateVersion(t.Context(), v.ID)
	must(t, err)
	return v
}

// TestPushAsksForVariables walks the way of a push that forgets a variable.
func TestPushAsksForVariables(t *testing.T) {
	s := servertest.Start(t, nil)
	ctx, c := t.Context(), s.Client
	files := map[string]string{
		"README.md":   "# Mine",
		"parse.jsonl": `{"complete": {"readme": "IyBNaW5l", "templateVariables": [{"name": "region", "type": "string", "required": true}, {"name": "key", "sensitive": true, "defaultValue": "hush"}], "workspaceTags": {"zone": "\"a\""}}}`,
		"plan.jsonl":  `{"log": {"level": "INFO", "output": "in ${variable.region}"}}`,
		"graph.jsonl": `{"complete": {"parameters": [{"name": "size", "type": "number", "defaultValue": "2", "mutable": true}], "resources": [{"type": "t", "name": "vm"}]}}`,
	}
	v := push(t, c, files, nil)
	if v.Job.Status != codersdk.ProvisionerJobStatusFailed || v.Job.ErrorCode != codersdk.JobErrorCodeRequiredTemplateVariables || !strings.Contains(v.Job.Error, "region") {
		t.Fatalf("without the variable: %+v", v.Job)
	}
	vars, err := c.TemplateVersionVariables(ctx, v.ID)
	must(t, err)
	if len(vars) != 2 || !vars[0].Required || vars[1].DefaultValue != "" {
		t.Fatalf("variables to ask for: %+v", vars)
	}
	v = push(t, c, files, func(r *codersdk.CreateTemplateVersionRequest) {
		r.UserVariableValues = []codersdk.VariableValue{{Name: "region", Value: "eu"}}
	})
	if v.Job.Status != codersdk.ProvisionerJobStatusSucceeded || v.Readme != "# Mine" {
		t.Fatalf("with it: %+v", v.Job)
	}
	params, err := c.TemplateVersionParameters(ctx, v.ID)
	must(t, err)
	resources, err := c.TemplateVersionResources(ctx, v.ID)
	must(t, err)
	if len(params) != 1 || params[0].Name != "size" || len(resources) != 2 {
		t.Fatalf("parameters %+v, resources %+v", params, resources)
	}
	logs, err := c.TemplateVersionLogs(ctx, v.ID, nil)
	must(t, err)
	if !strings.Contains(text(logs), "in eu") {
		t.Fatalf("log: %s", text(logs))
	}
	tpl, err := c.CreateTemplate(ctx, "default", codersdk.CreateTemplateRequest{Name: "mine", TemplateVersionID: v.ID})
	must(t, err)

	again := push(t, c, files, func(r *codersdk.CreateTemplateVersionRequest) { r.TemplateID, r.Name = tpl.ID, "two" })
	if again.Job.Status != codersdk.ProvisionerJobStatusSucceeded {
		t.Fatalf("the value of the version before: %+v", again.Job)
	}
	must(t, c.UpdateActiveTemplateVersion(ctx, tpl.ID, codersdk.UpdateActiveTemplateVersion{ID: again.ID}))
	list, err := c.Templates(ctx, url.Values{"q": {"mine deprecated:false organization:coder"}})
	must(t, err)
	if len(list) != 1 || list[0].ActiveVersionID != again.ID {
		t.Fatalf("list %+v", list)
	}
	if _, err := c.Templates(ctx, url.Values{"q": {"colour:red"}}); !codersdk.Is(err, codersdk.CodeInvalid) {
		t.Errorf("an unknown key: %v", err)
	}
	job, err := c.CreateTemplateVersionDryRun(ctx, again.ID, codersdk.CreateTemplateVersionDryRunRequest{RichParameterValues: []codersdk.WorkspaceBuildParameter{{Name: "size", Value: "3"}}})
	must(t, err)
	must(t, codersdk.Follow(ctx, c, "/templateversions/"+again.ID.String()+"/dry-run/"+job.ID.String()+"/logs", url.Values{"follow": {"true"}}, func(codersdk.ProvisionerJobLog) error { return nil }))
	if job, err = c.TemplateVersionDryRun(ctx, again.ID, job.ID); err != nil || job.Status != codersdk.ProvisionerJobStatusSucceeded {
		t.Fatalf("dry run %+v, %v", job, err)
	}
	if rs, err := c.TemplateVersionDryRunResources(ctx, again.ID, job.ID); err != nil || len(rs) != 1 {
		t.Fatalf("dry run's resources %v, %v", rs, err)
	}
}

func text(logs []codersdk.ProvisionerJobLog) string {
	var b strings.Builder
	for _, l := range logs {
		b.WriteString(l.Stage + ": " + l.Output + "\n")
	}
	return b.String()
}

// endless is an upload that counts what was taken of it; the client may still
// be sending when the answer is there.
type endless struct {
	left  int64
	taken atomic.Int64
}

func (e *endless) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n := min(int64(len(p)), e.left)
	e.left -= n
	e.taken.Add(n)
	return int(n), nil
}

// TestUploadTooLarge sends 100 MB: refused at once when the size is told, and
// after the limit when it is not; neither way is all of it taken.
func TestUploadTooLarge(t *testing.T) {
	s := servertest.Start(t, func(c *server.Config) { c.Provisioning.Daemons = 0 })
	for _, told := range []bool{true, false} {
		body := &endless{left: 100 << 20}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.Client.Endpoint("/files", nil).String(), body)
		must(t, err)
		if told {
			req.ContentLength = body.left
		}
		req.Header.Set("Content-Type", "application/x-tar")
		req.Header.Set("Coder-Session-Token", s.Client.SessionToken)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatalf("size told %v: %v", told, err)
		}
		answer, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(string(answer), "10 MiB") {
			t.Errorf("size told %v: %s %s, %v", told, resp.Status, answer, err)
		}
		if taken := body.taken.Load(); taken > 32<<20 {
			t.Errorf("size told %v: %d bytes were taken", told, taken)
		}
	}
}

// TestBadTemplateRequests checks that what makes no sense is said so, with the
// field, and that nothing of it stays.
func TestBadTemplateRequests(t *testing.T) {
	s := servertest.Start(t, nil)
	ctx, c := t.Context(), s.Client
	v := push(t, c, map[string]string{"plan.jsonl": `{"complete": {}}`}, nil)
	_, err := c.CreateTemplate(ctx, "default", codersdk.CreateTemplateRequest{Name: "bad name", TemplateVersionID: v.ID})
	fails(t, err, codersdk.CodeInvalid, "name")
	tpl, err := c.CreateTemplate(ctx, "default", codersdk.CreateTemplateRequest{Name: "good", TemplateVersionID: v.ID})
	must(t, err)
	w := push(t, c, map[string]string{"plan.jsonl": `{"complete": {}}`, "x": "y"}, nil)
	_, err = c.CreateTemplate(ctx, "default", codersdk.CreateTemplateRequest{Name: "Good", TemplateVersionID: w.ID})
	fails(t, err, codersdk.CodeConflict, "name")
	_, err = c.Template(ctx, uuid.New())
	fails(t, err, codersdk.CodeNotFound, "")
	_, err = c.OrganizationTemplates(ctx, "nowhere")
	fails(t, err, codersdk.CodeNotFound, "")
	_, err = c.Upload(ctx, "application/x-tar", strings.NewReader("this is no archive"+strings.Repeat(".", 1000)))
	fails(t, err, codersdk.CodeInvalid, "")

	broken := push(t, c, map[string]string{"plan.jsonl": `{"error": "main.tf:3: Unclosed configuration block"}`}, func(r *codersdk.CreateTemplateVersionRequest) { r.TemplateID = tpl.ID })
	if broken.Job.Status != codersdk.ProvisionerJobStatusFailed || !strings.Contains(broken.Job.Error, "Unclosed configuration block") {
		t.Fatalf("a syntax error: %+v", broken.Job)
	}
	fails(t, c.UpdateActiveTemplateVersion(ctx, tpl.ID, codersdk.UpdateActiveTemplateVersion{ID: broken.ID}), codersdk.CodeInvalid, "id")

	member, _ := s.Member(t, "bob")
	_, err = member.Template(ctx, tpl.ID)
	must(t, err)
	_, err = member.UpdateTemplate(ctx, tpl.ID, codersdk.UpdateTemplateMeta{Name: "mine"})
	fails(t, err, codersdk.CodeForbidden, "")
	must(t, c.UpdateTemplateACL(ctx, tpl.ID, codersdk.UpdateTemplateACL{GroupPerms: map[string]codersdk.TemplateRole{tpl.OrganizationID.String(): ""}}))
	_, err = member.Template(ctx, tpl.ID)
	fails(t, err, codersdk.CodeNotFound, "")
	must(t, c.DeleteTemplate(ctx, tpl.ID))
	_, err = c.TemplateByName(ctx, "default", "good")
	fails(t, err, codersdk.CodeNotFound, "")
}

func fails(t *testing.T, err error, code codersdk.Code, field string) {
	t.Helper()
	e, ok := errors.AsType[*codersdk.Error](err)
	if !ok || e.Code != code || e.Message == "" {
		t.Fatalf("got %v, want %s", err, code)
	}
	if field != "" && (len(e.Fields) != 1 || e.Fields[0].Field != field) {
		t.Fatalf("fields %v, want %s", e.Fields, field)
	}
}
