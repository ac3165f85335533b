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
)

// requiredVariables are variables of a template that have no value.
type requiredVariables struct{ names []string }

func (e requiredVariables) Error() string {
	return "required template variables need values: " + strings.Join(e.names, ", ")
}

// answer makes one error of a step's two ways to fail.
func answer[T interface{ GetError() string }](v T, err error) (T, error) {
	if err == nil && v.GetError() != "" {
		err = errors.New(v.GetError())
	}
	return v, err
}

// templateImport reads a template and plans it twice, as started and stopped.
func (r *runner) templateImport(ctx context.Context, s provisioner.Session) result {
	in := r.job.GetTemplateImport()
	out := &provisionerd.CompletedJob_TemplateImport{}
	failed := func(what string, err error) result {
		return result{failed: r.fail(fmt.Errorf("%s: %w", what, err), nil, nil)}
	}
	r.report.stage("Initializing")
	init, err := answer(s.Init(ctx, &provisioner.InitRequest{TemplateSourceArchive: r.job.TemplateSourceArchive}))
	if err != nil {
		return failed("initialize", err)
	}
	r.report.stage("Reading the template")
	parsed, err := answer(s.Parse(ctx, &provisioner.ParseRequest{}))
	if err != nil {
		return failed("read the template", err)
	}
	learned, err := r.report.learned(ctx, &provisionerd.UpdateJobRequest{
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
		planned, err := answer(s.Plan(ctx, &provisioner.PlanRequest{Metadata: m, VariableValues: learned.VariableValues}))
		if err != nil {
			return failed("plan", err)
		}
		graph, err := answer(s.Graph(ctx, &provisioner.GraphRequest{Metadata: m, Source: provisioner.GraphSource_SOURCE_PLAN}))
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

// started takes what the plan of a start says of the template.
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

// missing names the required variables that neither the user nor the server
// gave a value.
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
	_, err = answer(s.Plan(ctx, &provisioner.PlanRequest{
		Metadata: in.GetMetadata(), RichParameterValues: in.GetRichParameterValues(), VariableValues: in.GetVariableValues(),
	}))
	if err != nil {
		return failed("plan", err)
	}
	graph, err := answer(s.Graph(ctx, &provisioner.GraphRequest{Metadata: in.GetMetadata(), Source: provisioner.GraphSource_SOURCE_PLAN}))
	if err != nil {
		return failed("read the plan", err)
	}
	return result{done: &provisionerd.CompletedJob{
		JobId: r.job.JobId, Fence: r.job.Fence, Type: &provisionerd.CompletedJob_TemplateDryRun_{TemplateDryRun: &provisionerd.CompletedJob_TemplateDryRun{
			Resources: graph.Resources, Modules: init.Modules,
		}},
	}}
}

// build plans, asks for the quota, applies, and reads the new state. From the
// apply on, whatever happens, the state goes back to the server.
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
	r.report.stage("Planning")
	plan, err := answer(s.Plan(ctx, &provisioner.PlanRequest{
		Metadata: in.Metadata, RichParameterValues: in.RichParameterValues, VariableValues: in.VariableValues,
		ExternalAuthProviders: in.ExternalAuthProviders, PreviousParameterValues: in.PreviousParameterValues, State: in.State,
	}))
	timings = append(timings, plan.GetTimings()...)
	if err != nil {
		return failed("plan", err)
	}
	if err := r.quota(ctx, plan.DailyCost); err != nil {
		return failed("quota", err)
	}
	r.report.stage("Applying")
	if err := r.watch(ctx, s); err != nil {
		return failed("begin to apply", err)
	}
	apply, err := answer(s.Apply(ctx, &provisioner.ApplyRequest{Metadata: in.Metadata}))
	timings = append(timings, apply.GetTimings()...)
	state = apply.GetState()
	if err != nil {
		return failed("apply", err)
	}
	r.report.stage("Finishing")
	// What was applied is read even when the job was canceled meanwhile.
	graph, err := answer(s.Graph(context.WithoutCancel(ctx), &provisioner.GraphRequest{Metadata: in.Metadata, Source: provisioner.GraphSource_SOURCE_STATE}))
	timings = append(timings, graph.GetTimings()...)
	if err != nil {
		return failed("read the state", err)
	}
	return result{done: &provisionerd.CompletedJob{
		JobId: r.job.JobId, Fence: r.job.Fence, Type: &provisionerd.CompletedJob_WorkspaceBuild_{WorkspaceBuild: &provisionerd.CompletedJob_WorkspaceBuild{
			State: state, Resources: graph.Resources, Timings: timings, Modules: init.Modules,
			ResourceReplacements: plan.ResourceReplacements, AiTasks: graph.AiTasks,
		}},
	}}
}

// quota asks whether the workspace may cost that much a day.
func (r *runner) quota(ctx context.Context, cost int32) error {
	if cost <= 0 {
		return nil
	}
	r.report.stage("Checking the quota")
	return r.d.call(ctx, func(ctx context.Context, c provisionerd.DRPCProvisionerDaemonClient) error {
		q, err := c.CommitQuota(ctx, &provisionerd.CommitQuotaRequest{JobId: r.job.JobId, DailyCost: cost, Fence: r.job.Fence})
		if err == nil && !q.Ok {
			err = refusal{fmt.Sprintf("insufficient quota: the workspace would cost %d credits a day, and its owner's others use %d of a budget of %d; delete one of them, or ask an administrator for a larger allowance", cost, q.CreditsConsumed, q.Budget)}
		}
		return err
	})
}
