package graph

import (
	"bytes"
	"regexp"
	"strings"
)

// edgePattern matches an edge with quoted names in the DOT language.
var edgePattern = regexp.MustCompile(`^\s*"((?:[^"\\]|\\.)*)"\s*->\s*"((?:[^"\\]|\\.)*)"`)

// readDot reads the edges of `terraform graph`. Newer versions print only
// resources. Older versions, and OpenTofu, print every node as "[root] name
// (expand)", including locals, variables, outputs and providers, which are kept
// as intermediate nodes.
func readDot(dot []byte) map[string][]string {
	edges := map[string][]string{}
	for line := range bytes.Lines(dot) {
		match := edgePattern.FindSubmatch(line)
		if match == nil {
			continue
		}
		from, to := dotName(match[1]), dotName(match[2])
		// A provider node depends on all of its configuration, and all
		// resources depend on it. It would connect every resource with every
		// other.
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
