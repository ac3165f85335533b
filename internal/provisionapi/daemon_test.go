package provisionapi_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

const (
	build  = codersdk.ProvisionerJobTypeWorkspaceBuild
	imp    = codersdk.ProvisionerJobTypeTemplateVersionImport
	dryRun = codersdk.ProvisionerJobTypeTemplateVersionDryRun
)

func TestBuild(t *testing.T) {
	h := newHouse(t, queue.Config{})
	h.daemon(t, nil)
	id := h.add(t, build, map[string]string{
		"plan.jsonl":        `{"log": {"level": "INFO", "output": "planning ${workspace_name}"}, "complete": {"dailyCost": 3}}`,
		"apply.start.jsonl": `{"state": "new state"}`,
		"graph.state.jsonl": `{"complete": {"resources": [{"name": "main", "type": "vm"}]}}`,
	})
	j, logs := h.ends(t, id)
	if j.Status != codersdk.ProvisionerJobStatusSucceeded {
		t.Fatalf("job ended as %s: %s", j.Status, j.Error)
	}
	done := h.done[id].GetWorkspaceBuild()
	if string(done.State) != "new state" || len(done.Resources) != 1 || done.Resources[0].Name != "main" {
		t.Fatalf("result is %v", done)
	}
	stages, lines := []string{}, []string{}
	for _, l := range logs {
		if !slices.Contains(stages, l.Stage) {
			stages = append(stages, l.Stage)
		}
		if l.LogSource == codersdk.LogSourceProvisioner {
			lines = append(lines, l.Output)
		}
	}
	if want := "Setting up, Initializing, Planning, Checking the quota, Applying, Finishing"; strings.Join(stages, ", ") != want {
		t.Errorf("stages are %v", stages)
	}
	if !slices.Equal(lines, []string{"planning ws"}) {
		t.Errorf("lines are %q", lines)
	}
}

func TestImport(t *testing.T) {
	h := newHouse(t, queue.Config{})
	h.values = []*provisioner.VariableValue{{Name: "region", Value: "north"}}
	h.daemon(t, nil)
	large := strings.Repeat("QUJD", 700_000) // 2.1 MB of module files in base64
	id := h.add(t, imp, map[string]string{
		"README.md":        "hello",
		"init.jsonl":       `{"complete": {"modules": [{"key": "m"}], "moduleFiles": "` + large + `"}}`,
		"parse.jsonl":      `{"complete": {"templateVariables": [{"name": "region", "required": true}], "workspaceTags": {"a": "b"}}}`,
		"plan.start.jsonl": `{"log": {"output": "in ${variable.region}"}, "complete": {"plan": "cGxhbg=="}}`,
		"graph.start.jsonl": `{"complete": {"resources": [{"name": "r"}], "parameters": [{"name": "p"}], "presets": [{"name": "x"}],
			"externalAuthProviders": [{"id": "github"}], "hasAiTasks": true}}`,
	})
	// The script above is one line too many: JSON lines hold one object each.
	j, logs := h.ends(t, id)
	if j.Status != codersdk.ProvisionerJobStatusFailed || !strings.Contains(j.Error, "graph.start.jsonl, line 1") {
		t.Fatalf("broken script: job ended as %s: %s; %v", j.Status, j.Error, logs)
	}
	id = h.add(t, imp, map[string]string{
		"README.md":         "hello",
		"init.jsonl":        `{"complete": {"modules": [{"key": "m"}], "moduleFiles": "` + large + `"}}`,
		"parse.jsonl":       `{"complete": {"templateVariables": [{"name": "region", "required": true}], "workspaceTags": {"a": "b"}}}`,
		"plan.start.jsonl":  `{"log": {"output": "in ${variable.region}"}, "complete": {"plan": "cGxhbg=="}}`,
		"graph.start.jsonl": `{"complete": {"resources": [{"name": "r"}], "parameters": [{"name": "p"}], "presets": [{"name": "x"}], "externalAuthProviders": [{"id": "github"}], "hasAiTasks": true}}`,
	})
	j, logs = h.ends(t, id)
	if j.Status != codersdk.ProvisionerJobStatusSucceeded {
		t.Fatalf("job ended as %s: %s", j.Status, j.Error)
	}
	done := h.done[id].GetTemplateImport()
	if len(done.StartResources) != 1 || len(done.StopResources) != 0 || len(done.RichParameters) != 1 || len(done.Presets) != 1 ||
		!done.HasAiTasks || string(done.Plan) != "plan" || !slices.Equal(done.ExternalAuthProvidersNames, []string{"github"}) || len(done.StartModules) != 1 {
		t.Fatalf("result is %v", done)
	}
	if done.ModuleFiles != nil || len(done.ModuleFilesHash) != 32 {
		t.Fatal("large module files are not uploaded")
	}
	file, err := h.store.FileByHash(t.Context(), fmt.Sprintf("%x", done.ModuleFilesHash), h.user)
	if err != nil {
		t.Fatal("the uploaded module files are not there:", err)
	}
	data, err := h.store.FileData(t.Context(), file)
	if err != nil || len(data) != 2_100_000 {
		t.Fatalf("the uploaded module files have %d bytes, %v", len(data), err)
	}
	if !slices.ContainsFunc(logs, func(l codersdk.ProvisionerJobLog) bool { return l.Output == "in north" }) {
		t.Error("the variable's value did not reach the plan")
	}
}

func TestImportWithoutRequiredVariable(t *testing.T) {
	h := newHouse(t, queue.Config{})
	h.daemon(t, nil)
	id := h.add(t, imp, map[string]string{"parse.jsonl": `{"complete": {"templateVariables": [{"name": "region", "required": true}]}}`})
	j, _ := h.ends(t, id)
	if j.Status != codersdk.ProvisionerJobStatusFailed || j.ErrorCode != codersdk.JobErrorCodeRequiredTemplateVariables || !strings.Contains(j.Error, "region") {
		t.Fatalf("job ended as %s: %s (%s)", j.Status, j.Error, j.ErrorCode)
	}
}

func TestDryRun(t *testing.T) {
	h := newHouse(t, queue.Config{})
	h.daemon(t, nil)
	id := h.add(t, dryRun, map[string]string{"graph.jsonl": `{"complete": {"resources": [{"name": "r"}]}}`})
	if j, _ := h.ends(t, id); j.Status != codersdk.ProvisionerJobStatusSucceeded || len(h.done[id].GetTemplateDryRun().GetResources()) != 1 {
		t.Fatalf("job ended as %s: %s", j.Status, j.Error)
	}
}

func TestFailures(t *testing.T) {
	h := newHouse(t, queue.Config{})
	h.daemon(t, nil)
	for name, c := range map[string]struct {
		files       map[string]string
		want, state string
	}{
		"template":       {map[string]string{"plan.jsonl": `{"error": "no such region"}`}, "plan: no such region", ""},
		"machinery":      {map[string]string{"init.jsonl": `{"fail": "disk full"}`}, "initialize: disk full", ""},
		"panic":          {map[string]string{"plan.jsonl": `{"panic": "oops"}`}, "the engine failed: oops", ""},
		"apply":          {map[string]string{"apply.jsonl": `{"state": "half", "error": "quota"}`}, "apply: quota", "half"},
		"state unread":   {map[string]string{"graph.state.jsonl": `{"error": "two agents"}`}, "read the state: two agents", "echo"},
		"broken archive": {nil, "initialize: read the template archive", ""},
	} {
		id := uuid.New()
		if c.files == nil {
			h.addArchive(t, id, build, []byte(strings.Repeat("garbage", 200)), "")
		} else {
			h.addUnder(t, id, build, c.files, "")
		}
		j, _ := h.ends(t, id)
		if j.Status != codersdk.ProvisionerJobStatusFailed || !strings.HasPrefix(j.Error, c.want) {
			t.Errorf("%s: job ended as %s: %s", name, j.Status, j.Error)
		}
		if got := string(h.failed[id].GetWorkspaceBuild().GetState()); got != c.state {
			t.Errorf("%s: state is %q, want %q", name, got, c.state)
		}
	}
	id := h.add(t, build, nil)
	if j, _ := h.ends(t, id); j.Status != codersdk.ProvisionerJobStatusSucceeded {
		t.Fatalf("the daemon did not survive: %s: %s", j.Status, j.Error)
	}
}

func (h *house) cancel(t testing.TB, id uuid.UUID) {
	t.Helper()
	if err := h.store.Tx(t.Context(), func(q *sqlc.Queries) error { return h.queue.Cancel(t.Context(), q, id) }); err != nil {
		t.Fatal(err)
	}
	h.queue.Canceled(id)
}

func TestCancel(t *testing.T) {
	for hang, force := range map[string]time.Duration{"true": time.Hour, `"deaf"`: 300 * time.Millisecond} { // the second is given up
		h := newHouse(t, queue.Config{})
		h.daemonWith(t, nil, force)
		id := h.add(t, build, map[string]string{"apply.jsonl": `{"state": "half"}` + "\n" + `{"log": {"output": "here"}}` + "\n" + `{"hang": ` + hang + `}`})
		h.says(t, id, "here")
		h.cancel(t, id)
		j, logs := h.ends(t, id)
		if j.Status != codersdk.ProvisionerJobStatusCanceled {
			t.Errorf("hang %s: job ended as %s: %s", hang, j.Status, j.Error)
		}
		if last := logs[len(logs)-1].Output; !strings.Contains(last, "the job was canceled") {
			t.Errorf("hang %s: the log ends with %q", hang, last)
		}
		if state := string(h.failed[id].GetWorkspaceBuild().GetState()); hang == "true" && state != "half" {
			t.Errorf("the state after an interrupted apply is %q", state)
		}
	}
}

func TestJobOutlivesItsConnection(t *testing.T) {
	h := newHouse(t, queue.Config{})
	c := &cutter{h: h}
	h.daemon(t, c.dial)
	id := h.add(t, build, map[string]string{
		"plan.jsonl":  `{"log": {"output": "one"}}` + "\n" + `{"sleep": "1s"}` + "\n" + `{"log": {"output": "two"}}` + "\n" + `{"sleep": "1s"}`,
		"apply.jsonl": `{"log": {"output": "three"}}`,
	})
	h.says(t, id, "one")
	c.cut()
	h.says(t, id, "two")
	c.cut()
	j, logs := h.ends(t, id)
	if j.Status != codersdk.ProvisionerJobStatusSucceeded {
		t.Fatalf("job ended as %s: %s", j.Status, j.Error)
	}
	var got []string
	for _, l := range logs {
		if l.LogSource == codersdk.LogSourceProvisioner {
			got = append(got, l.Output)
		}
	}
	if len(slices.Compact(got)) != 3 || c.dials < 3 {
		t.Fatalf("lines %q over %d connections", got, c.dials)
	}
}

func TestLostJobIsAbortedAndTheNextOneRuns(t *testing.T) {
	h := newHouse(t, queue.Config{})
	h.daemon(t, nil)
	id := h.add(t, build, map[string]string{"plan.jsonl": `{"log": {"output": "here"}}` + "\n" + `{"hang": true}`})
	h.says(t, id, "here")
	// Somebody else ended it.
	if err := h.store.QueueEnd(t.Context(), sqlc.QueueEndParams{ID: id, Error: "reaped"}); err != nil {
		t.Fatal(err)
	}
	next := h.add(t, build, nil)
	if j, _ := h.ends(t, next); j.Status != codersdk.ProvisionerJobStatusSucceeded {
		t.Fatalf("job ended as %s: %s", j.Status, j.Error)
	}
	if h.failed[id] != nil || h.done[id] != nil {
		t.Error("the daemon changed a job that it had lost")
	}
}

func TestStopDrains(t *testing.T) {
	h := newHouse(t, queue.Config{})
	d := h.daemon(t, nil)
	id := h.add(t, build, map[string]string{"plan.jsonl": `{"log": {"output": "here"}}` + "\n" + `{"sleep": "300ms"}`})
	h.says(t, id, "here")
	ctx, cancel := context.WithTimeout(t.Context(), testwait.Limit)
	defer cancel()
	if err := d.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if j, _ := h.ends(t, id); j.Status != codersdk.ProvisionerJobStatusSucceeded {
		t.Fatalf("job ended as %s: %s", j.Status, j.Error)
	}
}

func TestStopAtOnceFailsTheJob(t *testing.T) {
	h := newHouse(t, queue.Config{})
	d := h.daemon(t, nil)
	id := h.add(t, build, map[string]string{"apply.jsonl": `{"state": "half", "log": {"output": "here"}}` + "\n" + `{"hang": true}`})
	h.says(t, id, "here")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	j, _ := h.ends(t, id)
	if j.Status != codersdk.ProvisionerJobStatusFailed || !strings.Contains(j.Error, "stopping immediately") || string(h.failed[id].GetWorkspaceBuild().State) != "half" {
		t.Fatalf("job ended as %s: %s", j.Status, j.Error)
	}
}

func TestManyLines(t *testing.T) {
	h := newHouse(t, queue.Config{})
	h.daemon(t, nil)
	id := h.add(t, build, map[string]string{
		"plan.jsonl":  `{"log": {"output": "` + strings.Repeat("x", 5<<20) + `"}}`,
		"apply.jsonl": `{"log": {"output": "` + strings.Repeat("y", 1000) + `"}, "repeat": 100000}`,
	})
	j, logs := h.ends(t, id)
	if j.Status != codersdk.ProvisionerJobStatusSucceeded || !j.LogsOverflowed {
		t.Fatalf("job ended as %s: %s", j.Status, j.Error)
	}
	size := 0
	for _, l := range logs {
		size += len(l.Output)
	}
	if size > 1<<20+1000 {
		t.Fatalf("%d bytes of log were kept", size)
	}
}
