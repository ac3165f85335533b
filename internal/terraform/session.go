package terraform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/cage"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/environ"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/graph"
	"github.com/seed-2a7f8fe7/coder/internal/tracing"
)

// session is one job. See provisioner.Session for the order of calls.
type session struct {
	engine   *Engine
	binary   *binary
	config   *provisioner.Config
	dir      string // work directory of the job; the source is in source()
	lock     *os.File
	log      func(*provisioner.Log)
	provider *providerProcess
	cage     *cage.Cage
	closed   bool
	left     bool               // Close keeps the directory
	claim    string             // of Watch
	changed  func(state []byte) // of Watch
	whole    []byte             // the last complete state
	created  *graph.Creations   // of the last plan and its apply

	module    *module           // the template's own source, read at Init
	workspace map[string]string // CODER_* of the last plan
	planJSON  []byte            // of the last plan, nil until asked for
	planned   bool
	modules   []byte   // SHA-256 of the module files it was given
	extra     []string // environment of the next command

	complete *provisioner.PlanComplete // of the last plan
	used     bool                      // the last plan is that of UsePlan
	refused  bool                      // Terraform refused it
}

var (
	_ provisioner.Session = (*session)(nil)
	_ provisioner.Modules = (*session)(nil)
)

// templateError is a failure that the template's author sees unchanged.
type templateError struct{ text string }

func (e *templateError) Error() string { return e.text }

// reason returns the text for the author if err is about the template;
// otherwise it returns err.
func reason(err error) (string, error) {
	if e, ok := errors.AsType[*templateError](err); ok {
		return e.text, nil
	}
	return "", err
}

func (s *session) source() string { return filepath.Join(s.dir, "source") }

func (s *session) file(name string) string { return filepath.Join(s.source(), name) }

const (
	stateFile = "terraform.tfstate"
	planFile  = "coder.tfplan"
)

// logf adds a line of the engine to the job's log.
func (s *session) logf(l provisioner.LogLevel, format string, args ...any) {
	s.log(&provisioner.Log{Level: l, Output: fmt.Sprintf(format, args...)})
}

// terraform runs a command whose output goes to the log. The error is a
// templateError if the command ran and failed.
func (s *session) terraform(ctx context.Context, stage string, args ...string) ([]*provisioner.Timing, *recorder, error) {
	if err := s.provider.ready(); err != nil {
		return nil, nil, err
	}
	r := newRecorder(stage, func(l provisioner.LogLevel, text string) {
		s.log(&provisioner.Log{Level: l, Output: text})
	})
	c := command{args: args, env: s.environ(), stdout: r.stdout, stderr: r.takeStderr, cage: s.cage}
	if stage == "apply" || stage == "plan" && s.config.GetPlanOnly() {
		c.started = r.applying.Load
	}
	if stage != "init" {
		r.seen = s.created.Take
	}
	begin := time.Now()
	_, err := s.run(ctx, stage, c)
	timings := r.finish(begin, time.Now(), err == nil)
	exit, ok := errors.AsType[*exitError](err)
	switch {
	case err == nil:
		return timings, r, nil
	case !ok:
		return timings, r, err
	case exit.canceled:
		// Children that ignored the interrupt are killed, too.
		s.provider.kill()
		return timings, r, &templateError{"terraform " + stage + " was canceled"}
	}
	return timings, r, &templateError{fmt.Sprintf("terraform %s: %s%s", stage, r.failure(err), s.cage.Exceeded())}
}

// output runs a command whose standard output is data.
func (s *session) output(ctx context.Context, stage string, args ...string) ([]byte, error) {
	if err := s.provider.ready(); err != nil {
		return nil, err
	}
	r := newRecorder(stage, func(l provisioner.LogLevel, text string) {
		s.log(&provisioner.Log{Level: l, Output: text})
	})
	out, err := s.run(ctx, stage, command{args: args, env: s.environ(), stderr: r.takeStderr, cage: s.cage})
	if exit, ok := errors.AsType[*exitError](err); ok {
		if exit.canceled {
			s.provider.kill()
			return nil, &templateError{"terraform " + stage + " was canceled"}
		}
		return nil, &templateError{fmt.Sprintf("terraform %s: %s", stage, r.failure(err))}
	}
	return out, err
}

// run runs a command below a span with its name and exit status.
func (s *session) run(ctx context.Context, stage string, c command) ([]byte, error) {
	_, span := tracing.Start(ctx, "terraform "+stage)
	out, err := run(ctx, s.binary.path, s.source(), s.provider.leader(), s.engine.config.Grace, c)
	if exit, ok := errors.AsType[*exitError](err); ok {
		span.SetAttributes(tracing.Int("process.exit.code", exit.status))
	}
	tracing.End(span, err)
	return out, err
}

// Parse reads the source without running Terraform.
func (s *session) Parse(context.Context, *provisioner.ParseRequest) (*provisioner.ParseComplete, error) {
	if s.module == nil {
		return nil, errors.New("terraform: Parse before Init")
	}
	return parseComplete(s.module), nil
}

// Plan computes the changes of a transition and stores the plan for Apply and
// Graph.
func (s *session) Plan(ctx context.Context, req *provisioner.PlanRequest) (*provisioner.PlanComplete, error) {
	if s.module == nil {
		return nil, errors.New("terraform: Plan before Init")
	}
	done := &provisioner.PlanComplete{}
	s.complete = done
	var err error
	done.Timings, err = s.plan(ctx, req, done)
	done.Error, err = reason(err)
	return done, err
}

func (s *session) plan(ctx context.Context, req *provisioner.PlanRequest, done *provisioner.PlanComplete) ([]*provisioner.Timing, error) {
	if err := s.setInputs(req); err != nil {
		return nil, err
	}
	args := []string{"plan", "-json", "-no-color", "-input=false", "-lock=false", "-var-file=" + variablesFile, "-out=" + planFile}
	if req.GetMetadata().GetWorkspaceTransition() == provisioner.WorkspaceTransition_DESTROY {
		args = append(args, "-destroy")
	}
	timings, r, err := s.terraform(ctx, "plan", args...)
	if err != nil {
		return timings, err
	}
	s.planned = true
	importing := req.GetMetadata().GetWorkspaceBuildId() == ""
	if !importing && !r.replace && !s.module.mentions("daily_cost", "coder_ai_task") {
		return timings, nil
	}
	p, err := s.readPlan(ctx)
	if err != nil {
		return timings, err
	}
	done.DailyCost, done.AiTaskCount = p.DailyCost(), p.AITasks()
	done.ResourceReplacements = p.Replacements()
	if importing && len(s.planJSON) <= maxPlanJSON {
		done.Plan = s.planJSON
	}
	return timings, nil
}

// maxPlanJSON is the largest plan that is sent to the server; a wire message
// must stay below 4 MiB.
const maxPlanJSON = 2 << 20

// setInputs passes the inputs of a plan to the provider and to Terraform.
func (s *session) setInputs(req *provisioner.PlanRequest) error {
	s.workspace, s.planJSON = environ.Workspace(req), nil
	s.planned, s.used, s.created = false, false, graph.NewCreations()
	if err := s.provider.setEnv(s.workspace); err != nil {
		return err
	}
	for _, i := range graph.Tainted(req.GetState()) {
		s.logf(provisioner.LogLevel_WARN,
			"An earlier build did not finish creating %s. It is destroyed. If the template still contains it, it is created again and its scripts run.", i)
	}
	for _, name := range []string{planFile, stateFile, stateFile + ".backup"} {
		if err := os.Remove(s.file(name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("clear work directory: %w", err)
		}
	}
	if len(req.GetState()) > 0 {
		if err := os.WriteFile(s.file(stateFile), req.GetState(), 0o600); err != nil {
			return fmt.Errorf("write state: %w", err)
		}
	}
	return s.writeVariables(req.GetVariableValues())
}

// Apply applies the last Plan. The response contains the current state, even if
// the apply failed or was interrupted.
func (s *session) Apply(ctx context.Context, _ *provisioner.ApplyRequest) (*provisioner.ApplyComplete, error) {
	if !s.planned {
		return nil, errors.New("terraform: Apply before a Plan that succeeded")
	}
	done := &provisioner.ApplyComplete{}
	var err error
	if s.whole, err = readState(s.file(stateFile)); err != nil {
		return nil, err
	}
	stop, err := s.watch()
	if err != nil {
		return nil, err
	}
	var r *recorder
	done.Timings, r, err = s.terraform(ctx, "apply", "apply", "-json", "-no-color", "-input=false", "-lock=false", "-auto-approve", planFile)
	stop()
	s.planned, s.refused = false, s.used && err != nil && ctx.Err() == nil && r != nil && !r.applying.Load()
	state, readErr := readState(s.file(stateFile))
	if readErr != nil {
		return nil, errors.Join(err, readErr)
	}
	if done.State = state; !json.Valid(state) && len(state)+len(s.whole) > 0 {
		s.logf(provisioner.LogLevel_WARN, "Terraform was killed while writing its state; the previous state is kept.")
		done.State = s.whole
	}
	if err != nil {
		var cut []graph.Address
		if done.State, cut, readErr = s.created.Taint(done.State); readErr != nil {
			return nil, errors.Join(err, readErr)
		}
		for _, i := range cut {
			s.logf(provisioner.LogLevel_WARN, "Terraform ended before %s was completely created; the next build creates it again.", i)
		}
	}
	done.Error, err = reason(err)
	return done, err
}

// readState reads a state, nil if it does not exist.
func readState(file string) ([]byte, error) {
	state, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read state: %w", err)
	}
	return state, nil
}

// Graph returns the result of the last Plan or Apply.
func (s *session) Graph(ctx context.Context, req *provisioner.GraphRequest) (*provisioner.GraphComplete, error) {
	if s.module == nil {
		return nil, errors.New("terraform: Graph before Init")
	}
	begin := time.Now()
	done, err := s.graph(ctx, req)
	if done == nil {
		done = &provisioner.GraphComplete{}
	}
	r := newRecorder("graph", nil)
	done.Timings = r.finish(begin, time.Now(), err == nil)
	done.Error, err = reason(err)
	return done, err
}

// Close kills what still runs and removes the work directory, unless Leave was
// called.
func (s *session) Close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	if s.provider != nil {
		s.provider.close()
	}
	if err := s.cage.Close(); err != nil {
		s.engine.config.Log.Warn("removing the control group of a job failed", "error", err)
	}
	if s.lock != nil {
		s.lock.Close()
	}
	if _, err := os.Stat(filepath.Join(s.dir, claimFile)); s.left && err == nil {
		return nil
	}
	if err := os.RemoveAll(s.dir); err != nil {
		return fmt.Errorf("remove work directory: %w", err)
	}
	return nil
}
