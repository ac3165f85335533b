//go:build !linux && !windows

package agent

import "github.com/seed-2a7f8fe7/coder"

// listeningPorts knows nothing on this system.
func listeningPorts() ([]coder.WorkspaceAgentListeningPort, error) {
	return []coder.WorkspaceAgentListeningPort{}, nil
}
