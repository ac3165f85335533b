// Package meter counts builds and the use of apps.
package meter

import (
	"context"
	"strconv"
	"sync"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

const (
	// maxCounted limits the workspaces whose builds are counted by name. Builds of
	// other workspaces are counted under otherWorkspaces, because every combination of
	// labels takes memory, here and in Prometheus.
	maxCounted      = 10_000
	otherWorkspaces = "(other)"
)

// Builds are the metrics of builds that ended on this server. They are safe for concurrent use; nil counts nothing.
type Builds struct {
	claims    *prometheus.HistogramVec
	builds    *prometheus.CounterVec
	durations *prometheus.HistogramVec
	created   *prometheus.CounterVec
	creations *prometheus.HistogramVec

	mu      sync.Mutex
	counted map[string]struct{} // workspaces as owner/name
}

// NewBuilds registers the metrics; without r it returns nil.
func NewBuilds(r prometheus.Registerer) *Builds {
	if r == nil {
		return nil
	}
	buckets := []float64{1, 5, 10, 30, 60, 120, 300, 600, 1800, 3600}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: name, Help: help, Buckets: buckets, NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100,
		}, labels)
	}
	m := &Builds{
		counted: map[string]struct{}{},
		claims: histogram("coderd_prebuilt_workspace_claim_duration_seconds", "Seconds from the claim of a prebuilt workspace until it was built for its new owner.",
			[]float64{1, 2, 5, 10, 20, 30, 60, 120, 300}, "organization_name", "preset_name", "template_name"),
		builds: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "coderd_workspace_builds_total", Help: "Workspace builds that ended, by status: succeeded, failed or canceled.",
		}, []string{"action", "owner_email", "status", "template_name", "template_version", "workspace_name", "workspace_owner", "workspace_transition"}),
		durations: histogram("coderd_template_workspace_build_duration_seconds", "Seconds from the request for a workspace build to its end.",
			buckets, "is_prebuild", "organization_name", "status", "template_name", "transition"),
		created: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "coderd_workspace_creation_total", Help: "Workspaces whose first build succeeded, prebuilt ones not among them.",
		}, []string{"organization_name", "preset_name", "template_name"}),
		creations: histogram("coderd_workspace_creation_duration_seconds", "Seconds from the request for a workspace to the end of its first build, which succeeded.",
			buckets, "organization_name", "preset_name", "template_name", "type"),
	}
	r.MustRegister(m.claims, m.builds, m.durations, m.created, m.creations)
	return m
}

// Count counts a build if it has finished.
func (m *Builds) Count(ctx context.Context, q *sqlc.Queries, buildID uuid.UUID, claim bool) error {
	if m == nil {
		return nil
	}
	r, err := q.BuildMeasured(ctx, buildID)
	switch {
	case err == nil:
		m.count(r, claim)
	case codersdk.Is(err, codersdk.CodeNotFound):
		return nil
	}
	return err
}

func (m *Builds) count(r sqlc.BuildMeasuredRow, claim bool) {
	owner, email, name := r.Owner, r.OwnerEmail, r.Workspace
	if !m.counts(owner + "/" + name) {
		owner, email, name = otherWorkspaces, otherWorkspaces, otherWorkspaces
	}
	m.builds.WithLabelValues(r.Transition, email, r.Status, r.Template, r.Version, name, owner, r.Transition).Inc()
	m.durations.WithLabelValues(strconv.FormatBool(r.Prebuilt), r.Organization, r.Status, r.Template, r.Transition).Observe(r.Seconds)
	if r.Status != string(codersdk.ProvisionerJobStatusSucceeded) {
		return
	}
	switch {
	case claim:
		m.claims.WithLabelValues(r.Organization, r.Preset, r.Template).Observe(r.Seconds)
	case r.BuildNumber == 1 && r.Prebuilt:
		m.creations.WithLabelValues(r.Organization, r.Preset, r.Template, "prebuild").Observe(r.Seconds)
	case r.BuildNumber == 1:
		m.created.WithLabelValues(r.Organization, r.Preset, r.Template).Inc()
		m.creations.WithLabelValues(r.Organization, r.Preset, r.Template, "regular").Observe(r.Seconds)
	}
}

// counts reports whether builds of a workspace are counted by its name.
func (m *Builds) counts(workspace string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.counted[workspace]; !ok && len(m.counted) >= maxCounted {
		return false
	}
	m.counted[workspace] = struct{}{}
	return true
}
