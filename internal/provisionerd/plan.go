package provisionerd

import (
	"context"
	"errors"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
)

// planRequest returns the inputs of the plan of a build.
func planRequest(in *provisionerd.AcquiredJob_WorkspaceBuild) *provisioner.PlanRequest {
	return &provisioner.PlanRequest{
		Metadata: in.Metadata, RichParameterValues: in.RichParameterValues, VariableValues: in.VariableValues,
		ExternalAuthProviders: in.ExternalAuthProviders, PreviousParameterValues: in.PreviousParameterValues, State: in.State,
	}
}

// plan uses the saved plan that the server sent, or plans.
func (r *runner) plan(ctx context.Context, s provisioner.Session, in *provisionerd.AcquiredJob_WorkspaceBuild) (*provisioner.PlanComplete, error) {
	p, ok := s.(provisioner.Planner)
	if !ok || len(in.SavedPlan) == 0 {
		return r.planNow(ctx, s, in)
	}
	done, why, err := p.UsePlan(ctx, in.SavedPlan, planRequest(in))
	if err != nil || why == "" {
		return done, err
	}
	r.note(provisioner.LogLevel_INFO, "The saved plan is not used, so the build plans now: "+why)
	return r.planNow(ctx, s, in)
}

// planNow plans a build.
func (r *runner) planNow(ctx context.Context, s provisioner.Session, in *provisionerd.AcquiredJob_WorkspaceBuild) (*provisioner.PlanComplete, error) {
	r.planned = true
	r.report.stage("Planning")
	return step(ctx, "plan", s.Plan, planRequest(in))
}

// savedPlan returns what became of the saved plan of a build, "" without one.
func (r *runner) savedPlan(in *provisionerd.AcquiredJob_WorkspaceBuild) string {
	switch {
	case len(in.SavedPlan) == 0:
		return ""
	case r.planned:
		return provisionerd.SavedPlanRefused
	}
	return provisionerd.SavedPlanUsed
}

// note adds a line of the daemon to the job's log.
func (r *runner) note(level provisioner.LogLevel, text string) {
	r.report.add(provisionerd.LogSource_PROVISIONER_DAEMON, level, text)
}

// workspacePlan plans the next build of a workspace and returns the plan.
func (r *runner) workspacePlan(ctx context.Context, s provisioner.Session) result {
	p, ok := s.(provisioner.Planner)
	if !ok {
		return result{failed: r.fail(errors.New("this engine cannot keep plans"), nil, nil)}
	}
	r.report.stage("Initializing")
	if _, err := r.init(ctx, s); err != nil {
		return result{failed: r.fail(err, nil, nil)}
	}
	if _, err := r.planNow(ctx, s, r.job.GetWorkspacePlan()); err != nil {
		return result{failed: r.fail(err, nil, nil)}
	}
	saved, why, err := p.SavePlan(ctx)
	if err == nil && why != "" {
		err = errors.New(why)
	}
	if err != nil {
		return result{failed: r.fail(err, nil, nil)}
	}
	return result{done: &provisionerd.CompletedJob{
		JobId: r.job.JobId, Fence: r.job.Fence, Type: &provisionerd.CompletedJob_WorkspacePlan{WorkspacePlan: saved},
	}}
}
