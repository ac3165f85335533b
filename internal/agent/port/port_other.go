//go:build !linux && !windows

package port

import "github.com/seed-2a7f8fe7/coder/codersdk"

// Listening returns nothing on this system.
func Listening() ([]codersdk.WorkspaceAgentListeningPort, error) {
	return []codersdk.WorkspaceAgentListeningPort{}, nil
}
