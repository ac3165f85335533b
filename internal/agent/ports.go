package agent

import (
	"cmp"
	"slices"

	"github.com/seed-2a7f8fe7/coder"
)

// firstPort is the lowest port that is told of.
const firstPort = 9

// quietPorts are services of systems and of agents, which nobody opens from
// outside of a workspace. (AG-18)
func quietPorts() []int32 {
	return []int32{
		20, 21, 22, 23, 25, 53, 67, 68, 69, 110, 111, 123, 135, 137, 138, 139, 143, 161, 162, 179, 389, 427, 445, 465, 512, 513, 514, 515,
		543, 544, 548, 554, 587, 593, 631, 636, 873, 989, 990, 993, 995, // mail, files, names, printers
		2049, 2112, 2113, 2375, 2376, 3389, 5353, 5355, 5900, 6000, // NFS, metrics and debugging, Docker, screens
	}
}

// tellPorts gives the ports to tell of, lowest first, each once. names has the
// name of each port's process, "" for one that may not be known.
func tellPorts(names map[int32]string) []coder.WorkspaceAgentListeningPort {
	quiet := quietPorts()
	out := make([]coder.WorkspaceAgentListeningPort, 0, len(names))
	for port, name := range names {
		if port >= firstPort && !slices.Contains(quiet, port) {
			out = append(out, coder.WorkspaceAgentListeningPort{Network: "tcp", Port: port, ProcessName: name})
		}
	}
	slices.SortFunc(out, func(a, b coder.WorkspaceAgentListeningPort) int { return cmp.Compare(a.Port, b.Port) })
	return out
}
