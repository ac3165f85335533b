package coder

import "time"

// WorkspaceAgentMonitor is memory or a volume whose use an agent watches, and
// how it does. It is an addition of this server to the contract. (AG-22)
type WorkspaceAgentMonitor struct {
	// Path is a file or directory of the volume, empty for memory.
	Path string `json:"path"`
	// Threshold is the percentage of use, 1 to 100, from which on it is short.
	Threshold int32 `json:"threshold"`
	// Short says that the use has been there for a minute; it ends when it has
	// been below for a minute.
	Short bool `json:"short"`
	// Percent is the use at the last change, which was at ChangedAt; nil before
	// the first.
	Percent   int32      `json:"percent"`
	ChangedAt *time.Time `json:"changed_at,omitempty"`
}
