package workspace_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/workspace"
	"github.com/seed-2a7f8fe7/coder/internal/workspace/savedplan"
)

func planningAhead(c *workspace.Config) { c.PlanAhead = true }

// keepPlan stores a plan of the next start of a workspace, as its job does.
func (h *house) keepPlan(w uuid.UUID) workspace.Rehearsal {
	h.t.Helper()
	r, err := h.Rehearse(h.t.Context(), w)
	h.must(err)
	h.exec(`INSERT INTO workspace_plans (workspace_id, build_number, key, plan, made_at) VALUES ($1, $2, $3, 'plan', now())
		ON CONFLICT (workspace_id) DO UPDATE SET build_number = excluded.build_number, key = excluded.key, plan = excluded.plan, made_at = excluded.made_at`,
		w, r.BuildNumber, savedplan.Key(h.source(r), r.Build))
	return r
}

// source returns the source of a rehearsed start.
func (h *house) source(r workspace.Rehearsal) []byte {
	h.t.Helper()
	source, err := h.store.BuildSource(h.t.Context(), r.Job.ProvisionerJob.FileID)
	h.must(err)
	return source
}

// resting makes a stopped workspace.
func (h *house) resting(name string) codersdk.Workspace {
	h.t.Helper()
	w := h.running(h.ann, name)
	h.build(h.ann, w.ID, stop)
	h.finish(h.acquire(), "state of "+name)
	return w
}

// TestARehearsalIsTheNextStart: it has the inputs of the start, and leaves nothing behind.
func TestARehearsalIsTheNextStart(t *testing.T) {
	h := open(t, planningAhead)
	w := h.resting("dev")
	const everything = `SELECT (SELECT count(*) FROM workspace_builds) + (SELECT count(*) FROM provisioner_jobs) + (SELECT count(*) FROM audit_logs)`
	before := h.count(everything)
	r := h.keepPlan(w.ID)
	if after := h.count(everything); after != before {
		t.Errorf("a rehearsal left %d rows", after-before)
	}
	if m := r.Build.Metadata; m.WorkspaceOwnerSessionToken != "" || m.WorkspaceBuildId == "" || m.WorkspaceName != "dev" || string(r.Build.State) != "state of dev" {
		t.Errorf("%v", r.Build)
	}
	h.build(h.ann, w.ID, start)
	a := h.acquire()
	b := a.GetWorkspaceBuild()
	if string(b.SavedPlan) != "plan" || b.Metadata.WorkspaceOwnerSessionToken == "" {
		t.Errorf("the start got the plan %q and the token %q", b.SavedPlan, b.Metadata.WorkspaceOwnerSessionToken)
	}
	if n := h.count(`SELECT count(*) FROM workspace_plans`); n != 0 {
		t.Errorf("%d plans are kept after the start began", n)
	}
	// A plan has values that are drawn once, such as the token of an agent, so it is not used twice.
	h.queue.Release(t.Context(), h.worker, uuid.MustParse(a.JobId), a.Fence)
	if again := h.acquire(); again.JobId != a.JobId || len(again.GetWorkspaceBuild().SavedPlan) > 0 {
		t.Errorf("after a lost provisioner the plan is %q", again.GetWorkspaceBuild().SavedPlan)
	}
}

// TestAPlanIsNotUsed: of a workspace without a plan, with an old one, or if plans are turned off.
func TestAPlanIsNotUsed(t *testing.T) {
	for name, c := range map[string]struct {
		ahead bool
		after func(h *house)
	}{
		"too old":    {true, func(h *house) { h.exec(`UPDATE workspace_plans SET made_at = now() - interval '25 hours'`) }},
		"no plan":    {true, func(h *house) { h.exec(`UPDATE workspace_plans SET plan = ''`) }},
		"no key":     {true, func(h *house) { h.exec(`UPDATE workspace_plans SET key = ''`) }},
		"turned off": {false, func(*house) {}},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, func(w *workspace.Config) { w.PlanAhead = c.ahead })
			w := h.resting("dev")
			h.keepPlan(w.ID)
			c.after(h)
			h.build(h.ann, w.ID, start)
			if b := h.acquire().GetWorkspaceBuild(); len(b.SavedPlan) > 0 {
				t.Errorf("the start got the plan %q", b.SavedPlan)
			}
		})
	}
}

// randomChanges is the number of changes of TestAPlanIsUsedOnlyForTheSameInputs.
const randomChanges = 80

// TestAPlanIsUsedOnlyForTheSameInputs changes something at random between the plan and the
// start: the start gets the plan exactly if its inputs are those of the plan.
func TestAPlanIsUsedOnlyForTheSameInputs(t *testing.T) {
	h := open(t, planningAhead)
	size := codersdk.TemplateVersionParameter{Name: "size", Type: "string", FormType: "input", Mutable: true, DefaultValue: "1"}
	zone := codersdk.TemplateVersionVariable{Name: "zone", Type: "string", Value: "a"}
	versions := []uuid.UUID{h.version}
	for i := range 3 {
		versions = append(versions, h.newVersion(h.template, fmt.Sprint("next", i), spec{parameters: []codersdk.TemplateVersionParameter{size}, variables: []codersdk.TemplateVersionVariable{zone}}))
	}
	w := h.resting("dev")
	group := uuid.New()
	h.exec(`INSERT INTO groups (id, organization_id, name, display_name, created_at, updated_at) VALUES ($1, $2, 'admins', '', now(), now())`, group, h.org)
	owner, request := h.ann.UserID, codersdk.CreateWorkspaceBuildRequest{}
	word := func() string { return fmt.Sprint("x", rand.IntN(3)) }
	changes := []func(){
		func() {}, func() {},
		func() { h.exec(`UPDATE users SET username = $1 WHERE id = $2`, word(), owner) },
		func() { h.exec(`UPDATE users SET name = $1 WHERE id = $2`, word(), owner) },
		func() { h.exec(`UPDATE users SET email = $1 || '@example.com' WHERE id = $2`, word(), owner) },
		func() { h.exec(`UPDATE users SET ssh_private_key = $1 WHERE id = $2`, word(), owner) },
		func() { h.exec(`UPDATE users SET roles = ARRAY[$1] WHERE id = $2`, word(), owner) },
		func() {
			h.exec(`INSERT INTO group_members (group_id, organization_id, user_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`, group, h.org, owner)
		},
		func() { h.exec(`DELETE FROM group_members WHERE group_id = $1`, group) },
		func() { h.exec(`UPDATE workspaces SET name = $1 WHERE id = $2`, word(), w.ID) },
		func() { h.exec(`UPDATE templates SET name = $1`, word()) },
		func() { h.exec(`UPDATE files SET data = convert_to($1, 'UTF8') WHERE id = $2`, word(), h.file) },
		func() {
			h.exec(`UPDATE workspace_build_states SET state = convert_to($1, 'UTF8') WHERE build_id IN (SELECT id FROM workspace_builds WHERE current)`, word())
		},
		func() {
			h.exec(`UPDATE template_versions SET variables = jsonb_set(variables, '{0,value}', to_jsonb($1::text)) WHERE variables <> '[]'`, word())
		},
		func() {
			request.TemplateVersionID, request.RichParameterValues = versions[rand.IntN(len(versions))], nil
		},
		func() {
			request.TemplateVersionID, request.RichParameterValues = versions[1], []codersdk.WorkspaceBuildParameter{{Name: "size", Value: word()}}
		},
		func() { // another build
			h.build(h.ann, w.ID, stop)
			h.finish(h.acquire(), "state"+word())
		},
	}
	used := 0
	for range randomChanges {
		r := h.keepPlan(w.ID)
		source := h.source(r)
		request = codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionStart}
		for range 1 + rand.IntN(2) {
			changes[rand.IntN(len(changes))]()
		}
		h.build(h.ann, w.ID, request)
		a := h.acquire()
		got := inputsOf(a.GetWorkspaceBuild())
		same := proto.Equal(got, inputsOf(r.Build)) && string(a.TemplateSourceArchive) == string(source)
		if uses := len(a.GetWorkspaceBuild().SavedPlan) > 0; uses != same {
			t.Fatalf("the start uses the plan: %t; its inputs are the same: %t\n%v\n%v", uses, same, got, r.Build)
		}
		if same {
			used++
		}
		h.finish(a, "state of dev", agentResource("main"))
		h.build(h.ann, w.ID, stop)
		h.finish(h.acquire(), "state of dev")
		if n := h.count(`SELECT count(*) FROM workspace_plans`); n != 0 {
			t.Fatalf("%d plans are kept after the start began", n)
		}
	}
	if used == 0 || used == randomChanges {
		t.Errorf("%d of %d starts used their plan", used, randomChanges)
	}
}

// inputsOf returns the inputs of a build that a plan can depend on.
func inputsOf(b *provisionerd.AcquiredJob_WorkspaceBuild) *provisionerd.AcquiredJob_WorkspaceBuild {
	b = proto.CloneOf(b)
	savedplan.Strip(b)
	b.WorkspaceBuildId, b.Metadata.WorkspaceBuildId = "", ""
	return b
}

// TestARehearsalWaitsForNoOne: it fails at once while a build of the workspace is requested or
// unfinished.
func TestARehearsalWaitsForNoOne(t *testing.T) {
	h := open(t, planningAhead)
	w := h.resting("dev")
	tx, err := h.store.Pool().Begin(t.Context())
	h.must(err)
	_, err = tx.Exec(t.Context(), `SELECT FROM workspaces WHERE id = $1 FOR UPDATE`, w.ID)
	h.must(err)
	began := time.Now()
	_, err = h.Rehearse(t.Context(), w.ID)
	wantCode(t, err, codersdk.CodeNotFound)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it waited %s for the lock", took)
	}
	h.must(tx.Rollback(t.Context()))
	h.build(h.ann, w.ID, start)
	_, err = h.Rehearse(t.Context(), w.ID)
	wantCode(t, err, codersdk.CodeConflict)
}
