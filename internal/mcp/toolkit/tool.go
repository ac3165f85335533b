package toolkit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// MaxResult is the maximum size of a result in bytes.
const MaxResult = 256 << 10

// DefaultTimeout is the deadline of a call of a tool without its own.
const DefaultTimeout = time.Minute

// Effect is how a tool changes its environment.
type Effect int

// Values of Effect.
const (
	ReadOnly    Effect = iota // changes nothing
	Additive                  // changes something, and deletes or overwrites nothing
	Destructive               // can delete, overwrite or interrupt
)

// Spec describes a tool.
type Spec struct {
	Name        string
	Title       string // for users, in sentence case
	Description string // for the model
	Effect      Effect
	// Idempotent reports that a repeated call with the same input changes nothing more.
	Idempotent bool
	// OpenWorld reports that the tool can reach systems beyond this product.
	OpenWorld bool
	// Scopes are the scopes that a token needs for the tool, all of them.
	Scopes []codersdk.APIKeyScope
	// Timeout is the deadline of a call; 0 means DefaultTimeout.
	Timeout time.Duration
}

// Tool is a tool for callers of type C.
type Tool[C any] struct {
	Spec
	schema *jsonschema.Schema
	add    func(*mcp.Server, *slog.Logger, C)
}

// Schema returns the JSON schema of the tool's input.
func (t Tool[C]) Schema() *jsonschema.Schema { return t.schema }

// New returns a tool that runs a function. A string result is sent as text, any
// other result as JSON. New panics if the input has a field without a bound: tools
// are declared in package variables.
func New[C, In, Out any](spec Spec, run func(context.Context, C, In) (Out, error)) Tool[C] {
	schema, err := inputSchema[In]()
	if err != nil {
		panic(fmt.Sprintf("tool %s: %v", spec.Name, err))
	}
	t := Tool[C]{Spec: spec, schema: schema}
	destructive := spec.Effect == Destructive
	declared := &mcp.Tool{
		Name: spec.Name, Title: spec.Title, Description: spec.Description, InputSchema: schema,
		Annotations: &mcp.ToolAnnotations{
			Title: spec.Title, ReadOnlyHint: spec.Effect == ReadOnly, DestructiveHint: &destructive,
			IdempotentHint: spec.Idempotent || spec.Effect == ReadOnly, OpenWorldHint: &spec.OpenWorld,
		},
	}
	t.add = func(s *mcp.Server, log *slog.Logger, c C) {
		mcp.AddTool(s, declared, func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
			return call(ctx, spec, log, func(ctx context.Context) (any, error) { return run(ctx, c, in) }), nil, nil
		})
	}
	return t
}

// call runs a tool within its deadline and returns its result or error.
func call(ctx context.Context, spec Spec, log *slog.Logger, run func(context.Context) (any, error)) (out *mcp.CallToolResult) {
	timeout := spec.Timeout
	if timeout == 0 {
		timeout = DefaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	start := time.Now()
	defer func() {
		if p := recover(); p != nil {
			log.ErrorContext(ctx, "an MCP tool failed", "tool", spec.Name, "error", fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
			out = failure("The tool failed because of an internal error; the log of the server has the details")
		}
		log.DebugContext(ctx, "MCP tool called", "tool", spec.Name, "failed", out.IsError, "took", time.Since(start))
	}()
	result, err := run(ctx)
	switch {
	case err != nil && ctx.Err() == context.DeadlineExceeded:
		return failure(fmt.Sprintf("The tool did not finish within %s", timeout))
	case err != nil:
		return failure(explain(err, spec.Scopes))
	}
	text, ok := result.(string)
	if !ok {
		var b strings.Builder
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(result); err != nil {
			return failure("The result cannot be encoded: " + err.Error())
		}
		text = strings.TrimSpace(b.String())
	}
	if len(text) > MaxResult {
		return failure(fmt.Sprintf("The result has %d bytes, more than the maximum of %d; ask for less", len(text), MaxResult))
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

func failure(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: Truncate(text, 4<<10)}}}
}

// explain returns the text of an error for the model. A refusal names the scopes
// that the tool needs, because the token may lack one of them. The server reports
// hidden objects as missing.
func explain(err error, scopes []codersdk.APIKeyScope) string {
	e, ok := errors.AsType[*codersdk.Error](err)
	if !ok {
		return err.Error()
	}
	text := e.Message
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	for _, f := range e.Fields {
		if !strings.Contains(text, f.Detail) {
			text += fmt.Sprintf(" (%s: %s)", f.Field, f.Detail)
		}
	}
	if len(scopes) > 0 && (e.Code == codersdk.CodeForbidden || e.Code == codersdk.CodeNotFound) {
		names := make([]string, len(scopes))
		for i, s := range scopes {
			names[i] = string(s)
		}
		text += fmt.Sprintf(". A token with limited scopes needs %s for this tool, and its allow list must include the objects", strings.Join(names, ", "))
	}
	return text
}

// Truncate returns s, or if it is longer than n bytes, its start up to a whole
// character, with a mark.
func Truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "… (truncated)"
}
