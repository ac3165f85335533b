// Package rules groups the rules of organizations for their members.
package rules

import (
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/orgruleapi"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
	"github.com/seed-2a7f8fe7/coder/internal/orgrule"
	"github.com/seed-2a7f8fe7/coder/internal/server/base"
)

// Routes returns the endpoints. The rules can name these external authentication providers.
func Routes(b *base.Base, users *identity.Service, providers []codersdk.ExternalAuthConfig) []rest.Route {
	service := &orgrule.Service{Store: b.Store, Hub: b.Hub, Now: b.Now}
	for _, p := range providers {
		service.Providers = append(service.Providers, p.ID)
	}
	api := orgruleapi.API{Rules: service, Identity: users}
	return api.Routes()
}
