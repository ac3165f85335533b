package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/internal/operator"
)

func TestFlags(t *testing.T) {
	t.Setenv("KUBECONFIG", "/nowhere")
	for _, c := range []struct{ args, want string }{
		{"--app=nothing", `--app "nothing" is not one of all, controller`},
		{"--log-level=loud", `--log-level "loud" is not one of debug`},
		{"words", `unexpected argument "words"`},
		{"--app=controller", "no Kubernetes configuration found"},
		{"--version", ""},
	} {
		var out, log bytes.Buffer
		err := run(t.Context(), strings.Fields(c.args), &out, &log)
		if c.want == "" && (err != nil || out.Len() == 0) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", c.args, err)
		}
	}
}

// TestTogether has one app fail: the others end, and its failure is told.
func TestTogether(t *testing.T) {
	broken := errors.New("broken")
	err := runAll(t.Context(), []app{
		{"good", func(ctx context.Context, _ operator.Config) error { <-ctx.Done(); return nil }},
		{"bad", func(context.Context, operator.Config) error { return broken }},
	}, operator.Config{})
	if !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "bad: ") {
		t.Errorf("it ended with %v", err)
	}
}
