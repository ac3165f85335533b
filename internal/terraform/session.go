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
)

// session is one job. See provisioner.Session for the order of calls.
type session struct {
	engine   *Engine
	binary   *binary
	config   *provisioner.Config
	dir      string // holds everything of the job; the source is in source()
	lock     *os.File
	log      func(*provisioner.Log)
	provider *providerProcess
	cage     *cage.Cage
	closed   bool
	left     bool               // Close keeps the directory
	claim    string             // of Watch
	changed  func(state []byte) // of Watch
	whole    []byte             // the last state that was no half of one

	module    *module           // the template's own source, read at Init
	workspace map[string]string // CODER_* of the last plan
	planJSON  []byte            // of the last plan, nil until asked for
	planned   bool
	modules   []byte // SHA-256 of the module files it was given
}

var (
	_ provisioner.Session = (*session)(nil)
	_ provisioner.Modules = (*session)(nil)
)

// templateError is a failure that the template's author is told as it is.
type templateError struct{ text string }

func (e *templateError) Error() string { return e.text }

// reason gives the text for the author when err is about the template, and
// err itself when the machinery failed.
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

// say adds a line of the engine's own to the job's log.
func (s *session) say(l provisioner.LogLevel, format string, args ...any) {
	s.log(&provisioner.Log{Level: l, Output: fmt.Sprintf(format, args...)})
}

// terraform runs a command whose output is meant for the log. The error is a
// templateError when the command ran and failed.
func (s *session) terraform(ctx context.Context, stage string, args ...string) ([]*provisioner.Timing, *recorder, error) {
	if err := s.provider.ready(); err != nil {
		return nil, nil, err
	}
	r := newRecorder(stage, func(l provisioner.LogLevel, text string) {
		s.log(&provisioner.Log{Level: l, Output: text})
	})
	c := command{args: args, env: s.environ(), stdout: r.stdout, stderr: r.takeStderr, cage: s.cage}
	if stage == "apply" {
		c.begun = r.begun.Load
	}
	begin := time.Now()
	_, err := run(ctx, s.binary.path, s.source(), s.provider.leader(), s.engine.config.Grace, c)
	timings := r.finish(begin, time.Now(), err == nil)
	exit, ok := errors.AsType[*exitError](err)
	switch {
	case err == nil:
		return timings, r, nil
	case !ok:
		return timings, r, err
	case exit.canceled:
		// Children that did not mind the interrupt go too.
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
	out, err := run(ctx, s.binary.path, s.source(), s.provider.leader(), s.engine.config.Grace, command{
		args: args, env: s.environ(), stderr: r.takeStderr, cage: s.cage,
	})
	if exit, ok := errors.AsType[*exitError](err); ok {
		if exit.canceled {
			s.provider.kill()
			return nil, &templateError{"terraform " + stage + " was canceled"}
		}
		return nil, &templateError{fmt.Sprintf("terraform %s: %s", stage, r.failure(err))}
	}
	return out, err
}

// Parse reads the source without running anything.
func (s *session) Parse(context.Context, *provisioner.ParseRequest) (*provisioner.ParseComplete, error) {
	if s.module == nil {
		return nil, errors.New("terraform: Parse before Init")
	}
	return parseComplete(s.module), nil
}

// Plan works out what a transition would change and keeps the plan for Apply
// and Graph.
func (s *session) Plan(ctx context.Context, req *provisioner.PlanRequest) (*provisioner.PlanComplete, error) {
	if s.module == nil {
		return nil, errors.New("terraform: Plan before Init")
	}
	done := &provisioner.PlanComplete{}
	var err error
	done.Timings, err = s.plan(ctx, req, done)
	done.Error, err = reason(err)
	return done, err
}

func (s *session) plan(ctx context.Context, req *provisioner.PlanRequest, done *provisioner.PlanComplete) ([]*provisioner.Timing, error) {
	s.workspace, s.planJSON, s.planned = workspaceEnv(req), nil, false
	if err := s.provider.setEnv(s.workspace); err != nil {
		return nil, err
	}
	if err := s.writeInputs(req); err != nil {
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

// maxPlanJSON is the largest plan that goes back to the server; a message of
// the wire must stay below 4 MiB.
const maxPlanJSON = 2 << 20

// writeInputs puts the state and the variables where Terraform reads them.
func (s *session) writeInputs(req *provisioner.PlanRequest) error {
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

// Apply makes what the last Plan said. The answer holds the state as it is
// now, also when the apply failed or was cut off.
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
	done.Timings, _, err = s.terraform(ctx, "apply", "apply", "-json", "-no-color", "-input=false", "-lock=false", "-auto-approve", planFile)
	stop()
	s.planned = false
	state, readErr := readState(s.file(stateFile))
	if readErr != nil {
		return nil, errors.Join(err, readErr)
	}
	if done.State = state; !json.Valid(state) && len(state)+len(s.whole) > 0 {
		s.say(provisioner.LogLevel_WARN, "Terraform was killed while it wrote its state; the one before that is kept.")
		done.State = s.whole
	}
	done.Error, err = reason(err)
	return done, err
}

// readState reads a state, nil when there is none.
func readState(file string) ([]byte, error) {
	state, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read state: %w", err)
	}
	return state, nil
}

// Graph reads what the last Plan or Apply holds.
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

// Close kills what still runs and removes the work directory, unless it is left.
func (s *session) Close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	if s.provider != nil {
		s.provider.close()
	}
	if err := s.cage.Close(); err != nil {
		s.engine.config.Log.Warn("cannot remove the control group of a job", "error", err)
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
