// Package enginetest is what every engine of provisioner jobs must do, as one
// suite of tests: the order of steps, where failures are told, what a cancel
// does, that state is never lost, and that jobs do not see one another. Each
// engine's tests hand in templates of their own kind and run it.
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
	// Good makes at least one resource when started, has a README.md, and logs
	// something while it is applied.
	Good []byte
	// Resource is the name of a resource of Good.
	Resource string
	// BadPlan initializes but cannot be planned.
	BadPlan []byte
	// BadApply can be planned, and fails in apply after it made something.
	BadApply []byte
	// Hanging can be planned; its apply logs one line and then waits forever.
	Hanging []byte
}

// Patience bounds one step of the suite.
const Patience = 2 * time.Minute

// Run runs the suite.
func Run(t *testing.T, engine provisioner.Engine, c Templates) {
	t.Run("import", func(t *testing.T) { importGood(t, engine, c) })
	t.Run("builds keep state", func(t *testing.T) { builds(t, engine, c) })
	t.Run("broken archive", func(t *testing.T) { brokenArchive(t, engine) })
	t.Run("bad plan", func(t *testing.T) { badPlan(t, engine, c) })
	t.Run("bad apply keeps state", func(t *testing.T) { badApply(t, engine, c) })
	t.Run("cancel", func(t *testing.T) { cancel(t, engine, c) })
	t.Run("jobs at once", func(t *testing.T) { atOnce(t, engine, c) })
}

// job is one session with its log.
type job struct {
	provisioner.Session
	mu   sync.Mutex
	logs []*provisioner.Log
	said chan struct{} // a line came
}

func open(t *testing.T, engine provisioner.Engine) *job {
	t.Helper()
	j := &job{said: make(chan struct{}, 1)}
	s, err := engine.Open(t.Context(), &provisioner.Config{}, func(l *provisioner.Log) {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.logs = append(j.logs, l)
		select {
		case j.said <- struct{}{}:
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

func (j *job) lines() int {
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

// must returns a step's answer, which must be a success.
func must[T interface{ GetError() string }](t *testing.T, what string, v T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: the engine failed: %v", what, err)
	}
	if v.GetError() != "" {
		t.Fatalf("%s: %s", what, v.GetError())
	}
	return v
}

// fails checks that a step failed in its answer and not in the engine.
func fails[T interface{ GetError() string }](t *testing.T, what string, v T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: a fault of the template is a failure of the engine: %v", what, err)
	}
	if v.GetError() == "" {
		t.Fatalf("%s: succeeded", what)
	}
	return v
}

func step(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	t.Cleanup(cancel)
	return ctx
}

func importGood(t *testing.T, engine provisioner.Engine, c Templates) {
	j, ctx := open(t, engine), step(t)
	init, err := j.Init(ctx, &provisioner.InitRequest{TemplateSourceArchive: c.Good})
	must(t, "init", init, err)
	parsed, err := j.Parse(ctx, &provisioner.ParseRequest{})
	if must(t, "parse", parsed, err); len(parsed.Readme) == 0 {
		t.Error("the readme is missing")
	}
	for _, tr := range []provisioner.WorkspaceTransition{provisioner.WorkspaceTransition_START, provisioner.WorkspaceTransition_STOP} {
		m := metadata(tr, "ws")
		plan, err := j.Plan(ctx, &provisioner.PlanRequest{Metadata: m})
		must(t, "plan "+tr.String(), plan, err)
		graph, err := j.Graph(ctx, &provisioner.GraphRequest{Metadata: m, Source: provisioner.GraphSource_SOURCE_PLAN})
		must(t, "graph "+tr.String(), graph, err)
		if tr == provisioner.WorkspaceTransition_START && !hasResource(graph, c.Resource) {
			t.Errorf("the plan of a start shows %v, not %q", graph.Resources, c.Resource)
		}
	}
}

func hasResource(g *provisioner.GraphComplete, name string) bool {
	return slices.ContainsFunc(g.Resources, func(r *provisioner.Resource) bool { return r.Name == name })
}

// build runs one whole build and gives the new state.
func build(t *testing.T, engine provisioner.Engine, archive, state []byte, m *provisioner.Metadata) ([]byte, *provisioner.GraphComplete) {
	t.Helper()
	j, ctx := open(t, engine), step(t)
	init, err := j.Init(ctx, &provisioner.InitRequest{TemplateSourceArchive: archive, OmitModuleFiles: true})
	must(t, "init", init, err)
	plan, err := j.Plan(ctx, &provisioner.PlanRequest{Metadata: m, State: state})
	must(t, "plan", plan, err)
	apply, err := j.Apply(ctx, &provisioner.ApplyRequest{Metadata: m})
	must(t, "apply", apply, err)
	graph, err := j.Graph(ctx, &provisioner.GraphRequest{Metadata: m, Source: provisioner.GraphSource_SOURCE_STATE})
	must(t, "graph", graph, err)
	return apply.State, graph
}

func builds(t *testing.T, engine provisioner.Engine, c Templates) {
	var state []byte
	for range 2 { // the second start builds on the state of the first
		next, graph := build(t, engine, c.Good, state, metadata(provisioner.WorkspaceTransition_START, "ws"))
		if len(next) == 0 {
			t.Fatal("a start gives no state")
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
		init, err := j.Init(step(t), &provisioner.InitRequest{TemplateSourceArchive: archive})
		fails(t, name, init, err)
	}
}

func badPlan(t *testing.T, engine provisioner.Engine, c Templates) {
	j, ctx := open(t, engine), step(t)
	init, err := j.Init(ctx, &provisioner.InitRequest{TemplateSourceArchive: c.BadPlan})
	must(t, "init", init, err)
	plan, err := j.Plan(ctx, &provisioner.PlanRequest{Metadata: metadata(provisioner.WorkspaceTransition_START, "ws")})
	fails(t, "plan", plan, err)
}

func badApply(t *testing.T, engine provisioner.Engine, c Templates) {
	j, ctx, m := open(t, engine), step(t), metadata(provisioner.WorkspaceTransition_START, "ws")
	init, err := j.Init(ctx, &provisioner.InitRequest{TemplateSourceArchive: c.BadApply})
	must(t, "init", init, err)
	plan, err := j.Plan(ctx, &provisioner.PlanRequest{Metadata: m})
	must(t, "plan", plan, err)
	apply, err := j.Apply(ctx, &provisioner.ApplyRequest{Metadata: m})
	if fails(t, "apply", apply, err); len(apply.State) == 0 {
		t.Error("the state of a failed apply is lost")
	}
}

func cancel(t *testing.T, engine provisioner.Engine, c Templates) {
	j, m := open(t, engine), metadata(provisioner.WorkspaceTransition_START, "ws")
	ctx := step(t)
	init, err := j.Init(ctx, &provisioner.InitRequest{TemplateSourceArchive: c.Hanging})
	must(t, "init", init, err)
	plan, err := j.Plan(ctx, &provisioner.PlanRequest{Metadata: m})
	must(t, "plan", plan, err)
	interrupted, interrupt := context.WithCancel(ctx)
	defer interrupt()
	before := j.lines()
	drain(j.said)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		apply, err := j.Apply(interrupted, &provisioner.ApplyRequest{Metadata: m})
		if err == nil && apply.Error == "" {
			t.Error("an interrupted apply succeeded")
		}
	}()
	for j.lines() == before {
		select {
		case <-j.said:
		case <-ended:
			t.Fatal("the apply ended by itself")
		case <-ctx.Done():
			t.Fatal("the apply logs nothing")
		}
	}
	interrupt()
	select {
	case <-ended:
	case <-ctx.Done():
		t.Fatal("the apply does not end after a cancel")
	}
	after := j.lines()
	if err := j.Close(); err != nil {
		t.Error("close:", err)
	}
	if j.lines() != after {
		t.Error("lines came after the step had ended")
	}
}

func drain(c chan struct{}) {
	select {
	case <-c:
	default:
	}
}

func atOnce(t *testing.T, engine provisioner.Engine, c Templates) {
	var wg sync.WaitGroup
	for _, name := range []string{"one", "two", "three"} {
		m := metadata(provisioner.WorkspaceTransition_START, name)
		j, ctx := open(t, engine), step(t)
		wg.Go(func() {
			for _, err := range []error{
				second(j.Init(ctx, &provisioner.InitRequest{TemplateSourceArchive: c.Good, OmitModuleFiles: true})),
				second(j.Plan(ctx, &provisioner.PlanRequest{Metadata: m})),
				second(j.Apply(ctx, &provisioner.ApplyRequest{Metadata: m})),
			} {
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
	wg.Wait()
}

func second[T any](_ T, err error) error { return err }
