package supportbundle

import (
	"context"
	"maps"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

func (k *collector) deploymentSteps() []Step {
	steps := []Step{
		{Name: "deployment/buildinfo.json", Run: k.buildInfo},
		k.file("deployment/config.json", "/deployment/config", nil),
		{Name: "deployment/health.json", Limit: time.Minute, Run: k.file("deployment/health.json", "/debug/health", url.Values{"force": {"true"}}).Run},
		k.file("deployment/health_history.json", "/debug/health/history", nil),
		k.file("deployment/experiments.json", "/experiments", nil),
		k.file("deployment/entitlements.json", "/entitlements", nil),
		k.file("deployment/stats.json", "/deployment/stats", nil),
		k.file("deployment/replicas.json", "/replicas", nil),
		k.file("deployment/regions.json", "/regions", nil),
		k.file("deployment/workspaceproxies.json", "/workspaceproxies", nil),
		k.file("deployment/metrics.txt", "/debug/metrics", nil),
		k.file("deployment/logs.txt", "/debug/logs", nil),
		k.file("deployment/notifications.json", "/notifications/queue", nil),
		k.file("network/connection_info.json", "/tunnel", nil),
		k.file("network/coordinator_debug.json", "/debug/coordinator", nil),
		k.file("user.json", "/users/me", nil),
		{Name: "deployment/workspaces.json", Run: k.workspaces},
		{Name: "provisioners", Limit: 2 * time.Minute, Run: k.provisioners},
		{Name: "replicas", Limit: 4 * time.Minute, Run: k.replicas},
	}
	if k.Profiles {
		steps = append(steps, k.profiles("pprof/server/", nil)...)
	}
	if k.Template != nil {
		steps = append(steps, Step{Name: "template", Limit: time.Minute, Run: k.template})
	}
	return steps
}

// profiles returns the steps that record the profiles of one server.
func (k *collector) profiles(dir string, q url.Values) (steps []Step) {
	for _, profile := range []string{"profile", "heap", "allocs", "goroutine", "mutex", "block", "threadcreate"} {
		query := url.Values{"profile": {profile}, "seconds": {"10"}}
		maps.Copy(query, q)
		s := k.file(dir+profile+".pprof", "/debug/pprof", query)
		s.Limit = time.Minute
		steps = append(steps, s)
	}
	return steps
}

// replicas collects the log, the metrics and, on request, the profiles of every
// replica, if there are several. With one, the files of deployment/ are its own.
func (k *collector) replicas(ctx context.Context, _ *Bundle) error {
	all, err := k.client.Replicas(ctx)
	if codersdk.Is(err, codersdk.CodeForbidden) || len(all) == 1 {
		return nil // deployment/replicas.json records that it is forbidden
	}
	if err != nil {
		return err
	}
	var waits sync.WaitGroup
	for _, r := range all[:min(len(all), maxReplicas)] {
		// Replicas on one machine have the same host name.
		dir, q := "replicas/"+SafeName(r.Hostname)+"-"+r.ID.String()[:8]+"/", url.Values{"replica": {r.ID.String()}}
		steps := []Step{k.file(dir+"logs.txt", "/debug/logs", q), k.file(dir+"metrics.txt", "/debug/metrics", q)}
		if k.Profiles {
			steps = append(steps, k.profiles(dir+"pprof/", q)...)
		}
		waits.Go(func() {
			for _, s := range steps {
				_ = k.part(ctx, s) // recorded by part
			}
		})
	}
	waits.Wait()
	return nil
}

func (k *collector) buildInfo(ctx context.Context, _ *Bundle) error {
	info, err := k.client.BuildInfo(ctx)
	if err != nil {
		return err
	}
	k.bundle.describe(func(m *Manifest) { m.ServerVersion = info.Version })
	return k.bundle.AddJSON("deployment/buildinfo.json", info)
}

// workspaces lists the workspaces that the user can access, up to the cap.
func (k *collector) workspaces(ctx context.Context, _ *Bundle) error {
	most := k.Workspaces
	if most <= 0 {
		most = 100_000
	}
	out := codersdk.WorkspacesResponse{Workspaces: []codersdk.Workspace{}}
	for {
		page, err := k.client.Workspaces(ctx, url.Values{"limit": {strconv.Itoa(min(most-len(out.Workspaces), 100))}, "offset": {strconv.Itoa(len(out.Workspaces))}})
		if err != nil {
			return err
		}
		out.Workspaces, out.Count = append(out.Workspaces, page.Workspaces...), page.Count
		if len(page.Workspaces) == 0 || len(out.Workspaces) >= min(page.Count, most) {
			return k.bundle.AddJSON("deployment/workspaces.json", out)
		}
	}
}

const (
	// maxReplicas bounds the number of replicas in a bundle.
	maxReplicas = 20
	// maxOrganizations bounds the number of organizations in a bundle.
	maxOrganizations = 50
	// maxExplained bounds the number of explained pending jobs per
	// organization.
	maxExplained = 20
)

// provisioners collects the provisioners, the queue and the recent jobs of
// every organization that the user can access, and the explanations of pending
// jobs.
func (k *collector) provisioners(ctx context.Context, _ *Bundle) error {
	all, err := k.client.Organizations(ctx)
	if err != nil {
		return err
	}
	for _, o := range all[:min(len(all), maxOrganizations)] {
		at, dir := "/organizations/"+o.ID.String(), "provisioners/"+o.Name+"/"
		for _, s := range []Step{
			k.file(dir+"daemons.json", at+"/provisionerdaemons", nil),
			k.file(dir+"queue.json", at+"/provisionerqueue", nil),
			k.file(dir+"jobs.json", at+"/provisionerjobs", url.Values{"limit": {"50"}}),
			{Name: dir + "explanations.json", Run: func(ctx context.Context, _ *Bundle) error {
				return k.explain(ctx, dir+"explanations.json", o.ID.String())
			}},
		} {
			_ = k.part(ctx, s) // recorded by part
		}
	}
	return nil
}

// explain collects the reasons why jobs are pending.
func (k *collector) explain(ctx context.Context, name, organization string) error {
	jobs, err := k.client.ProvisionerJobs(ctx, organization, url.Values{"status": {"pending"}, "limit": {strconv.Itoa(maxExplained)}})
	if err != nil {
		return err
	}
	out := []codersdk.ProvisionerJobExplanation{}
	for _, j := range jobs[:min(len(jobs), maxExplained)] {
		e, err := k.client.ExplainProvisionerJob(ctx, organization, j.ID)
		if err != nil {
			return err
		}
		out = append(out, e)
	}
	return k.bundle.AddJSON(name, out)
}
