// Package gallery groups what the pages of templates need beside the templates.
package gallery

import (
	"github.com/seed-2a7f8fe7/coder/internal/gallery"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/galleryapi"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
	"github.com/seed-2a7f8fe7/coder/internal/parameter"
	"github.com/seed-2a7f8fe7/coder/internal/server/base"
)

// Routes returns the endpoints.
func Routes(b *base.Base, users *identity.Service) []rest.Route {
	service := &gallery.Service{Store: b.Store, Forms: &parameter.Forms{Vault: b.Vault}}
	api := galleryapi.API{Gallery: service, Identity: users}
	return api.Routes()
}
