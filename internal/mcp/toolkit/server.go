package toolkit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Options describes a server.
type Options struct {
	Name, Title, Version string
	// Instructions are sent to clients, which can show them to their model; "" for none.
	Instructions string
	// Log receives calls at debug level, and failures; nil logs nothing.
	Log *slog.Logger
}

// schemas keeps the resolved schemas of tools, because servers over HTTP are
// created for each request.
var schemas = mcp.NewSchemaCache()

// NewServer returns a server with the tools for one caller.
func NewServer[C any](o Options, tools []Tool[C], caller C) *mcp.Server {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := mcp.NewServer(&mcp.Implementation{Name: o.Name, Title: o.Title, Version: o.Version}, &mcp.ServerOptions{
		Instructions: o.Instructions, PageSize: max(1, len(tools)), SchemaCache: schemas,
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}, // the list of tools does not change
	})
	for _, t := range tools {
		t.add(s, o.Log, caller)
	}
	s.AddReceivingMiddleware(guard(o.Log))
	return s
}

// guard makes a call without arguments a call with none, because the library fails on
// null where an argument has a default, and turns a panic of the library into an error
// of the request: requests run in goroutines of the library, where a panic would end
// the process.
func guard(log *slog.Logger) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (out mcp.Result, err error) {
			defer func() {
				if p := recover(); p != nil {
					log.ErrorContext(ctx, "an MCP request failed", "method", method, "error", fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
					out, err = nil, errors.New("the request failed because of an internal error; the log of the server has the details")
				}
			}()
			if c, ok := r.GetParams().(*mcp.CallToolParamsRaw); ok && (len(c.Arguments) == 0 || string(c.Arguments) == "null") {
				c.Arguments = json.RawMessage("{}")
			}
			return next(ctx, method, r)
		}
	}
}

// Allowed returns the tools with these names, or all tools without names. unknown
// are the names without a tool.
func Allowed[C any](tools []Tool[C], names []string) (allowed []Tool[C], unknown []string) {
	if len(names) == 0 {
		return tools, nil
	}
	for _, t := range tools {
		if slices.Contains(names, t.Name) {
			allowed = append(allowed, t)
		}
	}
	for _, n := range names {
		if !slices.ContainsFunc(tools, func(t Tool[C]) bool { return t.Name == n }) {
			unknown = append(unknown, fmt.Sprintf("%.64s", n))
		}
	}
	return allowed, unknown
}
