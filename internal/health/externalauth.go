package health

import (
	"context"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// externalAuth checks whether the providers of external authentication answer.
func (s *Service) externalAuth(ctx context.Context) codersdk.ExternalAuthReport {
	r := codersdk.ExternalAuthReport{HealthBase: fine(), Items: []codersdk.ExternalAuthHealth{}}
	if s.c.ExternalAuth == nil {
		return r
	}
	r.Items = append(r.Items, s.c.ExternalAuth(ctx)...)
	for _, p := range r.Items {
		if !p.Healthy {
			warn(&r.HealthBase, codersdk.HealthCodeExternalAuth, "the provider %s does not answer at %s; users cannot link it, and tokens are not renewed: %s",
				p.DisplayName, p.URL, p.Error)
		}
	}
	return r
}
