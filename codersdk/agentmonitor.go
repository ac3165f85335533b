package codersdk

import "time"

// WorkspaceAgentMonitor is a resource monitor of an agent: memory or one volume,
// and its current state. It is an extension of the public API. (AG-22)
type WorkspaceAgentMonitor struct {
	// Path is a file or directory on the volume; empty for memory.
	Path string `json:"path"`
	// Threshold is the percentage of use, 1 to 100, above which the monitor is Short.
	Threshold int32 `json:"threshold"`
	// Short is true once the use has been at or above Threshold for a minute, and
	// false again once it has been below for a minute.
	Short bool `json:"short"`
	// Percent is the use at the last change of Short, which happened at ChangedAt.
	// ChangedAt is nil before the first change.
	Percent   int32      `json:"percent"`
	ChangedAt *time.Time `json:"changed_at,omitempty"`
}
