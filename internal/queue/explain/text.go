package explain

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

func workspaceTags(t codersdk.Tags) string {
	var b strings.Builder
	for i, k := range slices.Sorted(maps.Keys(t)) {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString(" " + quoteHCL(k) + " = " + quoteHCL(t[k]))
	}
	if len(t) > 0 {
		b.WriteString(" ")
	}
	return `tags = {` + b.String() + `} in data "coder_workspace_tags"`
}

func pushTags(t codersdk.Tags) string {
	if len(t) == 0 {
		return `coder templates push --provisioner-tag="-"`
	}
	out := "coder templates push"
	for _, k := range slices.Sorted(maps.Keys(t)) {
		out += " --provisioner-tag " + quoteShell(quoteListItem(k+"="+t[k]))
	}
	return out
}

// explicit returns the tags without scope and owner.
func explicit(t codersdk.Tags) codersdk.Tags {
	out := maps.Clone(t)
	delete(out, codersdk.TagScope)
	delete(out, codersdk.TagOwner)
	return out
}

// shownTags is the maximum number of tags in one sentence.
const shownTags = 8

// describeTags lists tags for a sentence.
func describeTags(t codersdk.Tags) string {
	keys := slices.Sorted(maps.Keys(t))
	var parts []string
	for _, k := range keys[:min(len(keys), shownTags)] {
		parts = append(parts, k+"="+t[k])
	}
	word := "the tags "
	if len(keys) == 1 {
		word = "the tag "
	}
	return word + strings.Join(parts, ", ") + describeRest(len(keys))
}

func describeRest(n int) string {
	if n <= shownTags {
		return ""
	}
	return fmt.Sprintf(" and %d more", n-shownTags)
}

func describeDifferences(different []codersdk.ProvisionerTagDiffers, missing codersdk.Tags) string {
	var parts []string
	for _, d := range different[:min(len(different), shownTags)] {
		parts = append(parts, fmt.Sprintf("it has %s=%s, the job asks for %s=%s", d.Name, d.Daemon, d.Name, d.Job))
	}
	s := strings.Join(parts, "; ") + describeRest(len(different))
	if len(missing) > 0 {
		s += "; it lacks " + describeTags(missing)
	}
	return "I" + s[1:] + "."
}

func describeSince(t *time.Time) string {
	if t == nil {
		return ""
	}
	return " since " + t.UTC().Format(time.RFC3339)
}

// quoteShell quotes a word for a POSIX shell if it needs quotes.
func quoteShell(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_=./:@%+,", r))
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// quoteListItem quotes an item of a flag that takes a list split by commas.
func quoteListItem(s string) string {
	if !strings.ContainsAny(s, ",\"\n") {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}

// quoteHCL quotes text for Terraform's language.
func quoteHCL(s string) string {
	return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(strconv.Quote(s))
}
