package toolkit

import (
	"context"
	"encoding/json"
	"log/slog"
	"strconv"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func textOf(r *mcp.CallToolResult) string { return r.Content[0].(*mcp.TextContent).Text }

func TestCall(t *testing.T) {
	for name, c := range map[string]struct {
		run    func(context.Context) (any, error)
		failed bool
		want   string
	}{
		"text":  {func(context.Context) (any, error) { return "plain", nil }, false, "plain"},
		"value": {func(context.Context) (any, error) { return map[string]int{"n": 1}, nil }, false, `{"n":1}`},
		"panic": {func(context.Context) (any, error) { panic("secret cause") }, true, "internal error"},
		"large": {func(context.Context) (any, error) { return strings.Repeat("a", MaxResult+1), nil }, true, "ask for less"},
	} {
		got := call(t.Context(), Spec{Name: "tool"}, slog.New(slog.DiscardHandler), c.run)
		if got.IsError != c.failed || !strings.Contains(textOf(got), c.want) || strings.Contains(textOf(got), "secret") {
			t.Errorf("%s: failed %t: %.200s", name, got.IsError, textOf(got))
		}
	}
}

// TestArguments calls a tool with arguments that are no object. The process survives
// all of them.
func TestArguments(t *testing.T) {
	type input struct {
		Count int `json:"count,omitempty" min:"1" max:"9" default:"3"`
		Parts []struct {
			Size int `json:"size,omitempty" min:"1" max:"9" default:"3"`
		} `json:"parts,omitempty"`
	}
	tool := New(Spec{Name: "count"}, func(_ context.Context, _ struct{}, in input) (string, error) { return strconv.Itoa(in.Count), nil })
	server := NewServer(Options{Name: "test", Version: "1"}, []Tool[struct{}]{tool}, struct{}{})
	near, far := mcp.NewInMemoryTransports()
	if _, err := server.Connect(t.Context(), far, nil); err != nil {
		t.Fatal(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), near, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close() //nolint:errcheck // the test has ended
	for arguments, want := range map[string]string{`{}`: "3", `{"count": 4}`: "4", `null`: "3", `[]`: "", `"text"`: "", `7`: "", `{"parts": null}`: "", `{"parts": [null]}`: "", `{"count": null}`: ""} {
		out, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "count", Arguments: json.RawMessage(arguments)})
		failed := err != nil || out.IsError
		if failed != (want == "") || !failed && textOf(out) != want {
			t.Errorf("%s: %+v, %v", arguments, out, err)
		}
	}
	if out, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "count"}); err != nil || textOf(out) != "3" {
		t.Errorf("no arguments: %+v, %v", out, err)
	}
}

func TestInputWithoutBound(t *testing.T) {
	type unbounded struct {
		Count int `json:"count"`
	}
	if _, err := inputSchema[unbounded](); err == nil || !strings.Contains(err.Error(), "min and max") {
		t.Errorf("a number without bounds: %v", err)
	}
}

func TestInputBounds(t *testing.T) {
	type item struct {
		Text string `json:"text" max:"5"`
	}
	type input struct {
		Name  string            `json:"name" min:"1"`
		Kind  string            `json:"kind,omitempty" enum:"a,b" default:"a"`
		Count int               `json:"count,omitempty" min:"1" max:"9" default:"3"`
		Items []item            `json:"items,omitempty" max:"2"`
		Map   map[string]string `json:"map,omitempty" itemmax:"7"`
	}
	schema, err := inputSchema[input]()
	if err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("a", defaultMaxLength+1)
	for name, c := range map[string]struct {
		in map[string]any
		ok bool
	}{
		"whole":      {map[string]any{"name": "x", "kind": "b", "count": 9, "items": []any{map[string]any{"text": "12345"}}, "map": map[string]any{"k": "1234567"}}, true},
		"missing":    {map[string]any{}, false},
		"empty":      {map[string]any{"name": ""}, false},
		"long":       {map[string]any{"name": long}, false},
		"kind":       {map[string]any{"name": "x", "kind": "c"}, false},
		"count":      {map[string]any{"name": "x", "count": 10}, false},
		"items":      {map[string]any{"name": "x", "items": []any{map[string]any{"text": ""}, map[string]any{"text": ""}, map[string]any{"text": ""}}}, false},
		"item":       {map[string]any{"name": "x", "items": []any{map[string]any{"text": "123456"}}}, false},
		"map":        {map[string]any{"name": "x", "map": map[string]any{"k": "12345678"}}, false},
		"additional": {map[string]any{"name": "x", "more": 1}, false},
	} {
		if err := resolved.Validate(c.in); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
