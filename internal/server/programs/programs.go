// Package programs groups what serves programs that act for users, such as
// coding agents: the Model Context Protocol.
package programs

import (
	"net/http"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/mcpapi"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/mcp/tools"
	"github.com/seed-2a7f8fe7/coder/internal/server/base"
)

// Group is the edge of programs.
type Group struct {
	mcp *mcpapi.Server
}

// New creates the group.
func New(b *base.Base) *Group {
	return &Group{mcp: mcpapi.New(mcpapi.Config{AccessURL: b.AccessURL, Version: b.Version, Log: b.Logger("mcp")})}
}

// Resources returns the paths that the group serves, with the scopes that each uses.
func Resources() map[string][]codersdk.APIKeyScope {
	return map[string][]codersdk.APIKeyScope{mcpapi.Pattern: tools.Scopes()}
}

// Mount adds the handlers to those of the API.
func (g *Group) Mount(mounts map[string]http.Handler) { mounts[mcpapi.Pattern] = g.mcp }

// Services returns the services of the group, which call the API at the handler.
func (g *Group) Services(api http.Handler) []lifecycle.Named {
	g.mcp.Use(api)
	return []lifecycle.Named{{Name: "MCP", Service: g.mcp}}
}
