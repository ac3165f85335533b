// Package port lists the TCP ports on which the machine listens.
package port

import (
	"cmp"
	"slices"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// firstPort is the lowest port that is listed.
const firstPort = 9

// systemPorts returns the ports of system services and agents, which are not listed.
// (AG-18)
func systemPorts() []int32 {
	return []int32{
		20, 21, 22, 23, 25, 53, 67, 68, 69, 110, 111, 123, 135, 137, 138, 139, 143, 161, 162, 179, 389, 427, 445, 465, 512, 513, 514, 515,
		543, 544, 548, 554, 587, 593, 631, 636, 873, 989, 990, 993, 995, // mail, files, names, printers
		2049, 2112, 2113, 2375, 2376, 3389, 5353, 5355, 5900, 6000, // NFS, metrics and debugging, Docker, screens
	}
}

// visible returns the ports to list, in ascending order without duplicates.
// names maps each port to its process name, or to "" when that is unknown.
func visible(names map[int32]string) []codersdk.WorkspaceAgentListeningPort {
	quiet := systemPorts()
	out := make([]codersdk.WorkspaceAgentListeningPort, 0, len(names))
	for port, name := range names {
		if port >= firstPort && !slices.Contains(quiet, port) {
			out = append(out, codersdk.WorkspaceAgentListeningPort{Network: "tcp", Port: port, ProcessName: name})
		}
	}
	slices.SortFunc(out, func(a, b codersdk.WorkspaceAgentListeningPort) int { return cmp.Compare(a.Port, b.Port) })
	return out
}
