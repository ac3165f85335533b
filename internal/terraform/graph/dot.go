package graph

import (
	"bytes"
	"regexp"
	"strings"
)

// edgePattern is an edge of the graph language with quoted names.
var edgePattern = regexp.MustCompile(`^\s*"((?:[^"\\]|\\.)*)"\s*->\s*"((?:[^"\\]|\\.)*)"`)

// readDot reads the edges of `terraform graph`. Newer versions print resources
// alone; older ones, and OpenTofu, print every node as "[root] name (expand)",
// and locals, variables, outputs and providers in between: those stay in as
// steps on the way.
func readDot(dot []byte) map[string][]string {
	edges := map[string][]string{}
	for line := range bytes.Lines(dot) {
		match := edgePattern.FindSubmatch(line)
		if match == nil {
			continue
		}
		from, to := dotName(match[1]), dotName(match[2])
		// A provider node hangs on everything that its configuration needs, and
		// all resources hang on it: as a step it would connect all with all.
		if strings.Contains(from, "provider[") || strings.Contains(to, "provider[") || from == to {
			continue
		}
		edges[withoutKeys(from)] = append(edges[withoutKeys(from)], withoutKeys(to))
	}
	return edges
}

func dotName(raw []byte) string {
	name := strings.ReplaceAll(string(raw), `\"`, `"`)
	name = strings.TrimPrefix(name, "[root] ")
	for _, role := range []string{" (expand)", " (close)", " (reference)", " (validate)"} {
		name = strings.TrimSuffix(name, role)
	}
	return name
}
