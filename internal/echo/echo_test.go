package echo_test

import (
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/internal/echo"
	"github.com/seed-2a7f8fe7/coder/internal/enginetest"
)

func archive(t *testing.T, files map[string]string) []byte {
	t.Helper()
	b, err := echo.Archive(files)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestConformance(t *testing.T) {
	enginetest.Run(t, echo.New(), enginetest.Templates{
		Resource: "main",
		Good: archive(t, map[string]string{
			"README.md":         "# hello",
			"apply.jsonl":       `{"log": {"output": "applying"}}`,
			"graph.start.jsonl": `{"complete": {"resources": [{"name": "main", "type": "vm"}]}}`,
		}),
		BadPlan:  archive(t, map[string]string{"plan.jsonl": `{"error": "no"}`}),
		BadApply: archive(t, map[string]string{"apply.jsonl": `{"state": "half", "error": "no"}`}),
		Hanging:  archive(t, map[string]string{"apply.jsonl": `{"log": {"output": "here"}}` + "\n" + `{"hang": true}`}),
	})
}

func TestScripts(t *testing.T) {
	var logs []string
	s, err := echo.New().Open(t.Context(), &provisioner.Config{}, func(l *provisioner.Log) { logs = append(logs, l.Output) })
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Init(t.Context(), &provisioner.InitRequest{TemplateSourceArchive: archive(t, map[string]string{
		"plan.jsonl":              `{"log": {"output": "${workspace_name} in ${parameter.region}"}, "repeat": 2}`,
		"graph.jsonl":             `{"error": "the wrong one"}`,
		"graph.plan.stop.jsonl":   `{"complete": {"resources": [{"name": "stopped"}]}}`,
		"graph.state.start.jsonl": `{"nonsense": 1}`,
	})})
	if err != nil {
		t.Fatal(err)
	}
	m := &provisioner.Metadata{WorkspaceName: `a"b`, WorkspaceTransition: provisioner.WorkspaceTransition_STOP}
	if _, err := s.Plan(t.Context(), &provisioner.PlanRequest{Metadata: m, RichParameterValues: []*provisioner.RichParameterValue{{Name: "region", Value: "north"}}}); err != nil {
		t.Fatal(err)
	}
	if len(logs) != 2 || logs[0] != `a"b in north` {
		t.Errorf("logs are %q", logs)
	}
	g, err := s.Graph(t.Context(), &provisioner.GraphRequest{Metadata: m, Source: provisioner.GraphSource_SOURCE_PLAN})
	if err != nil || len(g.Resources) != 1 || g.Resources[0].Name != "stopped" {
		t.Errorf("graph is %v, %v", g, err)
	}
	m.WorkspaceTransition = provisioner.WorkspaceTransition_START
	g, err = s.Graph(t.Context(), &provisioner.GraphRequest{Metadata: m, Source: provisioner.GraphSource_SOURCE_STATE})
	if err != nil || !strings.Contains(g.Error, "graph.state.start.jsonl, line 1") {
		t.Errorf("a script with an unknown field returned %v, %v", g, err)
	}
}
