package workspace

import (
	"context"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-2a7f8fe7/coder"
)

// newClaims makes the histogram of how long claims took; r may be nil.
func newClaims(r prometheus.Registerer) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "coderd_prebuilt_workspace_claim_duration_seconds", Help: "How long it took from the claim of a prebuilt workspace until it was built for its new owner.",
		Buckets: []float64{1, 2, 5, 10, 20, 30, 60, 120, 300}, NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100,
	}, []string{"organization_name", "preset_name", "template_name"})
	if r != nil {
		r.MustRegister(h)
	}
	return h
}

// countClaim counts a claim whose build has succeeded.
func (s *Service) countClaim(ctx context.Context, buildID uuid.UUID) {
	r, err := s.Store.PrebuildClaimed(ctx, buildID)
	switch {
	case err == nil:
		s.claims.WithLabelValues(r.Organization, r.Preset, r.Template).Observe(r.Seconds)
	case !coder.Is(err, coder.CodeNotFound): // not over, or failed
		s.Log.Warn("cannot tell how long a claim took", "build_id", buildID, "error", err)
	}
}
