// Package enginetest is the conformance suite for engines of provisioner jobs. The
// suite checks the order of the steps, how failures are reported, cancellation,
// that state is never lost, and that concurrent jobs are isolated. The tests of
// each engine call Run with templates for that engine.
package enginetest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
)

// Templates are tar archives that the engine under test reads.
type Templates struct {
	// Good creates at least one resource on start, has a README.md, and logs at
	// least one line during apply.
	Good []byte
	// Resource is the name of a resource of Good.
	Resource string
	// BadPlan succeeds in init and fails in plan.
	BadPlan []byte
	// BadApply succeeds in plan, and fails in apply after it created a resource.
	BadApply []byte
	// Hanging succeeds in plan. Its apply logs one line and then waits forever.
	Hanging []byte
}

// stepTimeout bounds each step of a job.
const stepTimeout = 2 * time.Minute

// Run runs the suite.
func Run(t *testing.T, engine provisioner.Engine, c Templates) {
	t.Run("import", func(t *testing.T) { importGood(t, engine, c) })
	t.Run("builds keep state", func(t *testing.T) { buildsKeepState(t, engine, c) })
	t.Run("broken archive", func(t *testing.T) { brokenArchive(t, engine) })
	t.Run("bad plan", func(t *testing.T) { badPlan(t, engine, c) })
	t.Run("bad apply keeps state", func(t *testing.T) { badApply(t, engine, c) })
	t.Run("cancel", func(t *testing.T) { cancel(t, engine, c) })
	t.Run("jobs at once", func(t *testing.T) { concurrentJobs(t, engine, c) })
}

// job is a session of the engine with its log.
type job struct {
	provisioner.Session
	mu     sync.Mutex
	logs   []*provisioner.Log
	logged chan struct{} // receives after a line was logged; has room for one signal
}

func open(t *testing.T, engine provisioner.Engine) *job {
	t.Helper()
	j := &job{logged: make(chan struct{}, 1)}
	s, err := engine.Open(t.Context(), &provisioner.Config{}, func(l *provisioner.Log) {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.logs = append(j.logs, l)
		select {
		case j.logged <- struct{}{}:
		default:
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	j.Session = s
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error("close:", err)
		}
	})
	return j
}

func (j *job) lineCount() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.logs)
}

func metadata(tr provisioner.WorkspaceTransition, name string) *provisioner.Metadata {
	return &provisioner.Metadata{
		CoderUrl: "http://127.0.0.1:3000", WorkspaceTransition: tr, WorkspaceName: name, WorkspaceOwner: "someone",
		WorkspaceId: "3c9f7cb2-9f4b-4e6c-8b1f-8a5f0d2f7c11", WorkspaceOwnerId: "7d3d9ec4-2c2a-4f62-9a50-b7d2e4c8c0aa",
		WorkspaceOwnerEmail: "someone@example.com", TemplateName: "test", TemplateVersion: "one",
		WorkspaceBuildId: "a8e5a8a2-53f4-4f3b-9d0e-1f3a3f1f9f00", TemplateId: "5f1f7a42-58c2-45b2-a9d5-0f1d1d1d1d1d",
		WorkspaceOwnerName: "Some One", WorkspaceOwnerSessionToken: "token",
	}
}

// mustSucceed returns the response of a step. The test fails if the step failed.
func mustSucceed[T interface{ GetError() string }](t *testing.T, step string, v T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: the engine failed: %v", step, err)
	}
	if v.GetError() != "" {
		t.Fatalf("%s: %s", step, v.GetError())
	}
	return v
}

// mustFail returns the response of a step, which must report an error of the
// template. The test fails if the step succeeded or the engine returned an error.
func mustFail[T interface{ GetError() string }](t *testing.T, step string, v T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: the engine returned an error for a fault of the template: %v", step, err)
	}
	if v.GetError() == "" {
		t.Fatalf("%s: succeeded", step)
	}
	return v
}

func stepContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), stepTimeout)
	t.Cleanup(cancel)
	return ctx
}

func importGood(t *testing.T, engine provisioner.Engine, c Templates) {
	j, ctx := open(t, engine), stepContext(t)
	init, err := j.Init(ctx, &provisioner.InitRequest{TemplateSourceArchive: c.Good})
	mustSucceed(t, "init", init, err)
	parsed, err := j.Parse(ctx, &provisioner.ParseRequest{})
	if mustSucceed(t, "parse", parsed, err); len(parsed.Readme) == 0 {
		t.Error("the README is missing")
	}
	for _, tr := range []provisioner.WorkspaceTransition{provisioner.WorkspaceTransition_START, provisioner.WorkspaceTransition_STOP} {
		m := metadata(tr, "ws")
		plan, err := j.Plan(ctx, &provisioner.PlanRequest{Metadata: m})
		mustSucceed(t, "plan "+tr.String(), plan, err)
		graph, err := j.Graph(ctx, &provisioner.GraphRequest{Metadata: m, Source: provisioner.GraphSource_SOURCE_PLAN})
		mustSucceed(t, "graph "+tr.String(), graph, err)
		if tr == provisioner.WorkspaceTransition_START && !hasResource(graph, c.Resource) {
			t.Errorf("the plan of a start shows %v, not %q", graph.Resources, c.Resource)
		}
	}
}

func hasResource(g *provisioner.GraphComplete, name string) bool {
	return slices.ContainsFunc(g.Resources, func(r *provisioner.Resource) bool { return r.Name == name })
}

// build runs all steps of a build and returns the new state and the graph.
func build(t *testing.T, engine provisioner.Engine, archive, state []byte, m *provisioner.Metadata) ([]byte, *provisioner.GraphComplete) {
	t.Helper()
	j, ctx := open(t, engine), stepContext(t)
	init, err := j.Init(ctx, &provisioner.InitRequest{TemplateSourceArchive: archive, OmitModuleFiles: true})
	mustSucceed(t, "init", init, err)
	plan, err := j.Plan(ctx, &provisioner.PlanRequest{Metadata: m, State: state})
	mustSucceed(t, "plan", plan, err)
	apply, err := j.Apply(ctx, &provisioner.ApplyRequest{Metadata: m})
	mustSucceed(t, "apply", apply, err)
	graph, err := j.Graph(ctx, &provisioner.GraphRequest{Metadata: m, Source: provisioner.GraphSource_SOURCE_STATE})
	mustSucceed(t, "graph", graph, err)
	return apply.State, graph
}

func buildsKeepState(t *testing.T, engine provisioner.Engine, c Templates) {
	var state []byte
	for range 2 { // the second start builds on the state of the first
		next, graph := build(t, engine, c.Good, state, metadata(provisioner.WorkspaceTransition_START, "ws"))
		if len(next) == 0 {
			t.Fatal("a start returned no state")
		}
		if !hasResource(graph, c.Resource) {
			t.Fatalf("the state of a start shows %v, not %q", graph.Resources, c.Resource)
		}
		state = next
	}
	for _, tr := range []provisioner.WorkspaceTransition{provisioner.WorkspaceTransition_STOP, provisioner.WorkspaceTransition_DESTROY} {
		state, _ = build(t, engine, c.Good, state, metadata(tr, "ws"))
	}
}

func brokenArchive(t *testing.T, engine provisioner.Engine) {
	for name, archive := range map[string][]byte{"garbage": slices.Repeat([]byte("garbage "), 200), "cut": []byte("x")} {
		j := open(t, engine)
		init, err := j.Init(stepContext(t), &provisioner.InitRequest{TemplateSourceArchive: archive})
		mustFail(t, name, init, err)
	}
}

func badPlan(t *testing.T, engine provisioner.Engine, c Templates) {
	j, ctx := open(t, engine), stepContext(t)
	init, err := j.Init(ctx, &provisioner.InitRequest{TemplateSourceArchive: c.BadPlan})
	mustSucceed(t, "init", init, err)
	plan, err := j.Plan(ctx, &provisioner.PlanRequest{Metadata: metadata(provisioner.WorkspaceTransition_START, "ws")})
	mustFail(t, "plan", plan, err)
}

func badApply(t *testing.T, engine provisioner.Engine, c Templates) {
	j, ctx, m := open(t, engine), stepContext(t), metadata(provisioner.WorkspaceTransition_START, "ws")
	init, err := j.Init(ctx, &provisioner.InitRequest{TemplateSourceArchive: c.BadApply})
	mustSucceed(t, "init", init, err)
	plan, err := j.Plan(ctx, &provisioner.PlanRequest{Metadata: m})
	mustSucceed(t, "plan", plan, err)
	apply, err := j.Apply(ctx, &provisioner.ApplyRequest{Metadata: m})
	if mustFail(t, "apply", apply, err); len(apply.State) == 0 {
		t.Error("a failed apply returned no state")
	}
}

func cancel(t *testing.T, engine provisioner.Engine, c Templates) {
	j, m := open(t, engine), metadata(provisioner.WorkspaceTransition_START, "ws")
	ctx := stepContext(t)
	init, err := j.Init(ctx, &provisioner.InitRequest{TemplateSourceArchive: c.Hanging})
	mustSucceed(t, "init", init, err)
	plan, err := j.Plan(ctx, &provisioner.PlanRequest{Metadata: m})
	mustSucceed(t, "plan", plan, err)
	interrupted, interrupt := context.WithCancel(ctx)
	defer interrupt()
	before := j.lineCount()
	drainSignal(j.logged)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		apply, err := j.Apply(interrupted, &provisioner.ApplyRequest{Metadata: m})
		if err == nil && apply.Error == "" {
			t.Error("an interrupted apply succeeded")
		}
	}()
	for j.lineCount() == before {
		select {
		case <-j.logged:
		case <-ended:
			t.Fatal("the apply ended before it was canceled")
		case <-ctx.Done():
			t.Fatal("the apply logged nothing")
		}
	}
	interrupt()
	select {
	case <-ended:
	case <-ctx.Done():
		t.Fatal("the apply did not end after it was canceled")
	}
	after := j.lineCount()
	if err := j.Close(); err != nil {
		t.Error("close:", err)
	}
	if j.lineCount() != after {
		t.Error("the engine logged after the step had ended")
	}
}

func drainSignal(c chan struct{}) {
	select {
	case <-c:
	default:
	}
}

func concurrentJobs(t *testing.T, engine provisioner.Engine, c Templates) {
	var wg sync.WaitGroup
	for _, name := range []string{"one", "two", "three"} {
		m := metadata(provisioner.WorkspaceTransition_START, name)
		j, ctx := open(t, engine), stepContext(t)
		wg.Go(func() {
			for _, err := range []error{
				stepError(j.Init(ctx, &provisioner.InitRequest{TemplateSourceArchive: c.Good, OmitModuleFiles: true})),
				stepError(j.Plan(ctx, &provisioner.PlanRequest{Metadata: m})),
				stepError(j.Apply(ctx, &provisioner.ApplyRequest{Metadata: m})),
			} {
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
	wg.Wait()
}

func stepError[T any](_ T, err error) error { return err }
