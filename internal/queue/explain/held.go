package explain

import (
	"fmt"
	"strconv"
)

// HeldReason returns why a build waits for the limit of concurrent builds of its
// template. underWay is the number of its builds that were released, and place the
// position of this build among those that wait, from 1.
func HeldReason(template string, limit, underWay, place int) string {
	allows, are := fmt.Sprintf("%d builds at once, and %d are", limit, underWay), "one of them"
	if limit == 1 {
		allows, are = "one build at a time, and one is", "it"
	}
	if underWay < limit { // between the end of one build and the start of the next
		return fmt.Sprintf("The template %s has room for another build, and this one is about to be let go.", template)
	}
	if place <= 1 {
		return fmt.Sprintf("The template %s allows %s under way; this build is next when %s ends.", template, allows, are)
	}
	return fmt.Sprintf("The template %s allows %s under way; this build is number %d of those that wait for %s to end.", template, allows, place, are)
}

// HeldFix returns the command that allows one more concurrent build of a template.
func HeldFix(template string, limit int) string {
	return "coder templates edit " + quoteShell(template) + " --max-concurrent-builds " + strconv.Itoa(limit+1)
}
