package rig

import (
	"fmt"
	"strings"
	"time"
)

// agentGraph is the graph of a template with an agent and the two metadata items that package crowd reports.
const agentGraph = `{"complete": {"resources": [{"type": "null_resource", "name": "host", "agents": [{
	"id": "a", "name": "main", "operatingSystem": "linux", "architecture": "amd64", "token": "%s",
	"metadata": [{"key": "cpu", "displayName": "CPU", "script": "coder stat cpu", "interval": "10", "timeout": "1"},
		{"key": "ram", "displayName": "Memory", "script": "coder stat mem", "interval": "10", "timeout": "1"}]}]}]}}`

// AgentFiles returns the files of an echo template with an agent. Its builds take at least the given time and log
// lines as Terraform does. An empty token means a new one in each build.
func AgentFiles(token string, build time.Duration) map[string]string {
	if token == "" {
		token = "${token}"
	}
	const line = `{"log": {"level": "INFO", "output": "null_resource.host: Creation complete"}, "repeat": 10}`
	apply := line + "\n" + fmt.Sprintf(`{"sleep": %q}`, build) + "\n" + line
	return map[string]string{
		"plan.jsonl":        line,
		"apply.start.jsonl": apply,
		"apply.stop.jsonl":  apply,
		"graph.jsonl":       strings.ReplaceAll(fmt.Sprintf(agentGraph, token), "\n", " "),
	}
}
