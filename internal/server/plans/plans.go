// Package plans groups plans ahead: their service and their endpoint.
package plans

import (
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/planaheadapi"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/planahead"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
	"github.com/seed-2a7f8fe7/coder/internal/server/base"
	"github.com/seed-2a7f8fe7/coder/internal/workspace"
)

// Group is plans ahead.
type Group struct {
	service    *planahead.Service
	workspaces *workspace.Service
}

// New creates the group. plans is the number of plans that are kept.
func New(b *base.Base, plans int, jobs *queue.Service, workspaces *workspace.Service) *Group {
	return &Group{workspaces: workspaces, service: planahead.New(planahead.Config{
		Store: b.Store, Queue: jobs, Workspaces: workspaces, Hub: b.Hub, Log: b.Logger("planahead"), Now: b.Now, Plans: plans,
	})}
}

// Routes returns the endpoints.
func (g *Group) Routes() []rest.Route {
	api := planaheadapi.API{Plans: g.service, Workspaces: g.workspaces}
	return api.Routes()
}

// Services returns what runs in the background.
func (g *Group) Services() []lifecycle.Named {
	return []lifecycle.Named{{Name: "plans ahead", Service: g.service}}
}
