package resource

import (
	"slices"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// monitors returns the resource monitors of an agent: memory first, then volumes without duplicates.
func monitors(a *provisioner.Agent) []codersdk.WorkspaceAgentMonitor {
	out := []codersdk.WorkspaceAgentMonitor{}
	add := func(enabled bool, path string, threshold int32) {
		known := slices.ContainsFunc(out, func(m codersdk.WorkspaceAgentMonitor) bool { return m.Path == path })
		if enabled && !known {
			out = append(out, codersdk.WorkspaceAgentMonitor{Path: path, Threshold: min(max(threshold, 1), 100)})
		}
	}
	add(a.GetResourcesMonitoring().GetMemory().GetEnabled(), "", a.GetResourcesMonitoring().GetMemory().GetThreshold())
	for _, v := range a.GetResourcesMonitoring().GetVolumes() {
		add(v.Enabled && v.Path != "", v.Path, v.Threshold)
	}
	return out
}

// declaredMonitors returns monitors without what the agent reported.
func declaredMonitors(ms []codersdk.WorkspaceAgentMonitor) []codersdk.WorkspaceAgentMonitor {
	out := make([]codersdk.WorkspaceAgentMonitor, len(ms))
	for i, m := range ms {
		out[i] = codersdk.WorkspaceAgentMonitor{Path: m.Path, Threshold: m.Threshold}
	}
	return out
}
