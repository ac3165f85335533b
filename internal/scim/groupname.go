package scim

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

var notInNames = regexp.MustCompile(`[^a-zA-Z0-9]+`)

// freeGroupName returns a name of a group that is valid and not used, similar to the name at the provider. The keys
// of used are in lower case.
func freeGroupName(shown string, used map[string]bool) string {
	const longest = 32
	base := strings.Trim(notInNames.ReplaceAllString(shown, "-"), "-")
	base = strings.Trim(base[:min(len(base), longest)], "-")
	if codersdk.CheckName("name", base) != nil {
		base = "group"
	}
	name := base
	for i := 2; used[strings.ToLower(name)]; i++ {
		suffix := fmt.Sprintf("-%d", i)
		name = strings.Trim(base[:min(len(base), longest-len(suffix))], "-") + suffix
	}
	return name
}
