// Package insights groups the reports of usage, costs and versions by organization, template and user.
package insights

import (
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/insightapi"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/insight/breakdown"
	"github.com/seed-2a7f8fe7/coder/internal/server/base"
)

// Routes returns the endpoints of the reports.
func Routes(b *base.Base) []rest.Route {
	return insightapi.Routes(breakdown.New(breakdown.Config{Store: b.Store, Now: b.Now}))
}
