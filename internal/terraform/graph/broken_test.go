package graph

import (
	"strings"
	"testing"
)

func FuzzState(f *testing.F) {
	f.Add([]byte(`{"version":4,"resources":[{"mode":"managed","type":"coder_agent","name":"a","instances":[{"index_key":0,"attributes":{"id":"x"},"dependencies":["a.b"]}]}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := ReadState(raw)
		if err != nil {
			return
		}
		_, _ = m.Complete(func(string, ...any) {})
	})
}

func FuzzDot(f *testing.F) {
	f.Add([]byte("  \"a.b\" -> \"c.d\";\n"))
	f.Fuzz(func(t *testing.T, dot []byte) {
		m := &Model{edges: readDot(dot)}
		for from := range m.edges {
			m.closure(from)
		}
	})
}

// TestCyclicState reads a state that Terraform would not write.
func TestCyclicState(t *testing.T) {
	m, err := ReadState([]byte(`{"version":4,"resources":[
		{"mode":"managed","type":"coder_agent","name":"dev","instances":[{"attributes":{"id":"i","token":"t"},"dependencies":["x.a"]}]},
		{"mode":"managed","type":"x","name":"a","instances":[{"attributes":{},"dependencies":["x.b","coder_agent.dev"]}]},
		{"mode":"managed","type":"x","name":"b","instances":[{"attributes":{"user_data":"t"},"dependencies":["x.a","coder_agent.dev"]},{"deposed":"00","attributes":{}}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	g, err := m.Complete(t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	if r := g.GetResources(); len(r) != 2 || len(r[0].GetAgents()) != 0 || len(r[1].GetAgents()) != 1 {
		t.Errorf("got %v", r)
	}
	for raw, want := range map[string]string{"{": "the state is not valid JSON", `{"version":3}`: "only version 4", `[]`: "not valid JSON"} {
		if _, err := ReadState([]byte(raw)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", raw, err)
		}
	}
}
