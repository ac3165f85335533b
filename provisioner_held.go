package coder

import (
	"fmt"
	"strconv"
)

// HeldWords says why a build is held back by its template's cap: of the builds
// that the cap lets go so many are under way, and of those that are held back
// this one has that place, from 1.
func HeldWords(template string, limit, underWay, place int) string {
	allows, are := fmt.Sprintf("%d builds at once, and %d are", limit, underWay), "one of them"
	if limit == 1 {
		allows, are = "one build at a time, and one is", "it"
	}
	if underWay < limit { // the moment between the end of one and the beginning of the next
		return fmt.Sprintf("The template %s has room for another build, and this one is about to be let go.", template)
	}
	if place <= 1 {
		return fmt.Sprintf("The template %s allows %s under way; this build is next when %s ends.", template, allows, are)
	}
	return fmt.Sprintf("The template %s allows %s under way; this build is number %d of those that wait for %s to end.", template, allows, place, are)
}

// HeldFix is the command that lets a template have one build more at once.
func HeldFix(template string, limit int) string {
	return "coder templates edit " + shellWord(template) + " --max-concurrent-builds " + strconv.Itoa(limit+1)
}
