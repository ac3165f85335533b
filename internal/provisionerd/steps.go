package provisionerd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/internal/tracing"
)

// requiredVariables reports template variables without a value.
type requiredVariables struct{ names []string }

func (e requiredVariables) Error() string {
	return "required template variables need values: " + strings.Join(e.names, ", ")
}

// answer combines the two errors of a step.
func answer[T interface{ GetError() string }](v T, err error) (T, error) {
	if err == nil && v.GetError() != "" {
		err = errors.New(v.GetError())
	}
	return v, err
}

// step runs a step of the engine below a span, and combines its two errors.
func step[Q any, A interface{ GetError() string }](
	ctx context.Context, name string, do func(context.Context, Q) (A, error), req Q,
) (A, error) {
	ctx, span := tracing.Start(ctx, "provisioner "+name)
	done, err := answer(do(ctx, req))
	tracing.End(span, err)
	return done, err
}

// templateImport parses a template and plans it twice, for a started and for a
// stopped workspace.
func (r *runner) templateImport(ctx context.Context, s provisioner.Session) result {
	in := r.job.GetTemplateImport()
	out := &provisionerd.CompletedJob_TemplateImport{}
	failed := func(what string, err error) result {
		return result{failed: r.fail(fmt.Errorf("%s: %w", what, err), nil, nil)}
	}
	r.report.stage("Initializing")
	init, err := step(ctx, "init", s.Init, &provisioner.InitRequest{TemplateSourceArchive: r.job.TemplateSourceArchive})
	if err != nil {
		return failed("initialize", err)
	}
	r.report.stage("Reading the template")
	parsed, err := step(ctx, "parse", s.Parse, &provisioner.ParseRequest{})
	if err != nil {
		return failed("read the template", err)
	}
	learned, err := r.report.sendFindings(ctx, &provisionerd.UpdateJobRequest{
		TemplateVariables: parsed.TemplateVariables, UserVariableValues: in.GetUserVariableValues(),
		Readme: parsed.Readme, WorkspaceTags: parsed.WorkspaceTags,
	})
	if err != nil {
		return failed("report what the template holds", err)
	}
	if missing := missing(parsed.TemplateVariables, in.GetUserVariableValues(), learned.VariableValues); len(missing) > 0 {
		return result{failed: r.fail(requiredVariables{missing}, nil, nil)}
	}
	for _, plan := range []struct {
		stage      string
		transition provisioner.WorkspaceTransition
	}{
		{"Planning a started workspace", provisioner.WorkspaceTransition_START},
		{"Planning a stopped workspace", provisioner.WorkspaceTransition_STOP},
	} {
		r.report.stage(plan.stage)
		m := &provisioner.Metadata{}
		if in.GetMetadata() != nil {
			m = proto.CloneOf(in.GetMetadata())
		}
		m.WorkspaceTransition = plan.transition
		planned, err := step(ctx, "plan", s.Plan, &provisioner.PlanRequest{Metadata: m, VariableValues: learned.VariableValues})
		if err != nil {
			return failed("plan", err)
		}
		graph, err := step(ctx, "graph", s.Graph, &provisioner.GraphRequest{Metadata: m, Source: provisioner.GraphSource_SOURCE_PLAN})
		if err != nil {
			return failed("read the plan", err)
		}
		if plan.transition == provisioner.WorkspaceTransition_STOP {
			out.StopResources, out.StopModules = graph.Resources, init.Modules
			continue
		}
		started(out, graph)
		out.StartModules, out.Plan = init.Modules, planned.Plan
	}
	r.report.stage("Finishing")
	if err := r.report.moduleFiles(ctx, init, out); err != nil {
		return failed("upload the template's modules", err)
	}
	return result{done: &provisionerd.CompletedJob{
		JobId: r.job.JobId, Fence: r.job.Fence, Type: &provisionerd.CompletedJob_TemplateImport_{TemplateImport: out},
	}}
}

// started adds the results of the start plan to out.
func started(out *provisionerd.CompletedJob_TemplateImport, g *provisioner.GraphComplete) {
	out.StartResources = g.Resources
	out.RichParameters = g.Parameters
	out.Presets = g.Presets
	out.ExternalAuthProviders = g.ExternalAuthProviders
	for _, p := range g.ExternalAuthProviders {
		out.ExternalAuthProvidersNames = append(out.ExternalAuthProvidersNames, p.Id)
	}
	out.HasAiTasks, out.HasExternalAgents = g.HasAiTasks, g.HasExternalAgents
}

// missing returns the required variables without a value of the user or the
// server.
func missing(vars []*provisioner.TemplateVariable, user, server []*provisioner.VariableValue) []string {
	var out []string
	for _, v := range vars {
		has := func(l []*provisioner.VariableValue) bool {
			return slices.ContainsFunc(l, func(x *provisioner.VariableValue) bool { return x.Name == v.Name && x.Value != "" })
		}
		if v.Required && !has(user) && !has(server) {
			out = append(out, v.Name)
		}
	}
	return out
}

// dryRun plans a start with given parameters.
func (r *runner) dryRun(ctx context.Context, s provisioner.Session) result {
	in := r.job.GetTemplateDryRun()
	failed := func(what string, err error) result {
		return result{failed: r.fail(fmt.Errorf("%s: %w", what, err), nil, nil)}
	}
	r.report.stage("Initializing")
	init, err := r.init(ctx, s)
	if err != nil {
		return failed("initialize", err)
	}
	r.report.stage("Planning")
	_, err = step(ctx, "plan", s.Plan, &provisioner.PlanRequest{
		Metadata: in.GetMetadata(), RichParameterValues: in.GetRichParameterValues(), VariableValues: in.GetVariableValues(),
	})
	if err != nil {
		return failed("plan", err)
	}
	graph, err := step(ctx, "graph", s.Graph, &provisioner.GraphRequest{Metadata: in.GetMetadata(), Source: provisioner.GraphSource_SOURCE_PLAN})
	if err != nil {
		return failed("read the plan", err)
	}
	return result{done: &provisionerd.CompletedJob{
		JobId: r.job.JobId, Fence: r.job.Fence, Type: &provisionerd.CompletedJob_TemplateDryRun_{TemplateDryRun: &provisionerd.CompletedJob_TemplateDryRun{
			Resources: graph.Resources, Modules: init.Modules,
		}},
	}}
}

// build plans or uses a saved plan, checks the quota, applies, and reads the new state. After the
// start of the apply, the state is always reported.
func (r *runner) build(ctx context.Context, s provisioner.Session) result {
	in := r.job.GetWorkspaceBuild()
	var timings []*provisioner.Timing
	var state []byte
	failed := func(what string, err error) result {
		return result{failed: r.fail(fmt.Errorf("%s: %w", what, err), state, timings)}
	}
	r.report.stage("Initializing")
	init, err := r.init(ctx, s)
	timings = append(timings, init.GetTimings()...)
	if err != nil {
		return failed("initialize", err)
	}
	plan, err := r.plan(ctx, s, in)
	timings = append(timings, plan.GetTimings()...)
	if err != nil {
		return failed("plan", err)
	}
	apply, what, err := r.apply(ctx, s, plan)
	if p, ok := s.(provisioner.Planner); ok && err != nil && p.Refused() {
		r.note(provisioner.LogLevel_WARN, "The saved plan was refused, so the build plans now: "+err.Error())
		if plan, err = r.planNow(ctx, s, in); err != nil {
			return failed("plan", err)
		}
		timings = append(timings, plan.GetTimings()...)
		apply, what, err = r.apply(ctx, s, plan)
	}
	timings = append(timings, apply.GetTimings()...)
	state = apply.GetState()
	if err != nil {
		return failed(what, err)
	}
	r.report.stage("Finishing")
	// The applied state is read even if the job was canceled meanwhile.
	graph, err := step(context.WithoutCancel(ctx), "graph", s.Graph,
		&provisioner.GraphRequest{Metadata: in.Metadata, Source: provisioner.GraphSource_SOURCE_STATE})
	timings = append(timings, graph.GetTimings()...)
	if err != nil {
		return failed("read the state", err)
	}
	return result{done: &provisionerd.CompletedJob{
		JobId: r.job.JobId, Fence: r.job.Fence, Type: &provisionerd.CompletedJob_WorkspaceBuild_{WorkspaceBuild: &provisionerd.CompletedJob_WorkspaceBuild{
			State: state, Resources: graph.Resources, Timings: timings, Modules: init.Modules,
			ResourceReplacements: plan.ResourceReplacements, AiTasks: graph.AiTasks, SavedPlan: r.savedPlan(in),
		}},
	}}
}

// apply checks the quota and applies a plan. what is the step of an error.
func (r *runner) apply(ctx context.Context, s provisioner.Session, plan *provisioner.PlanComplete) (_ *provisioner.ApplyComplete, what string, err error) {
	if err := r.quota(ctx, plan.DailyCost); err != nil {
		return nil, "quota", err
	}
	r.report.stage("Applying")
	if err := r.watch(ctx, s); err != nil {
		return nil, "start the apply", err
	}
	done, err := step(ctx, "apply", s.Apply, &provisioner.ApplyRequest{Metadata: r.metadata()})
	return done, "apply", err
}

// quota checks whether the workspace fits into its owner's quota.
func (r *runner) quota(ctx context.Context, cost int32) error {
	if cost <= 0 {
		return nil
	}
	r.report.stage("Checking the quota")
	return r.d.call(ctx, func(ctx context.Context, c provisionerd.DRPCProvisionerDaemonClient) error {
		q, err := c.CommitQuota(ctx, &provisionerd.CommitQuotaRequest{JobId: r.job.JobId, DailyCost: cost, Fence: r.job.Fence})
		if err == nil && !q.Ok {
			err = refusal{fmt.Sprintf("insufficient quota: the workspace would cost %d credits per day, and the owner's other workspaces "+
				"use %d of a budget of %d; delete one of them, or ask an administrator for a larger allowance", cost, q.CreditsConsumed, q.Budget)}
		}
		return err
	})
}
