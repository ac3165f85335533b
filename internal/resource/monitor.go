package resource

import (
	"slices"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/api/provisioner"
)

// monitors gives what an agent watches: its memory first, then volumes, each
// once.
func monitors(a *provisioner.Agent) []coder.WorkspaceAgentMonitor {
	out := []coder.WorkspaceAgentMonitor{}
	add := func(enabled bool, path string, threshold int32) {
		known := slices.ContainsFunc(out, func(m coder.WorkspaceAgentMonitor) bool { return m.Path == path })
		if enabled && !known {
			out = append(out, coder.WorkspaceAgentMonitor{Path: path, Threshold: min(max(threshold, 1), 100)})
		}
	}
	add(a.GetResourcesMonitoring().GetMemory().GetEnabled(), "", a.GetResourcesMonitoring().GetMemory().GetThreshold())
	for _, v := range a.GetResourcesMonitoring().GetVolumes() {
		add(v.Enabled && v.Path != "", v.Path, v.Threshold)
	}
	return out
}
