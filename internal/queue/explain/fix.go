package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// distance counts the changes after which d could run the job. Whole classes of
// changes weigh more than any number of tags.
func (n Need) distance(d codersdk.ProvisionerDaemon, r codersdk.ProvisionerRefusal) int {
	tags := len(r.MissingTags) + len(r.DifferentTags)
	if d.Status == codersdk.ProvisionerDaemonStatusOffline && r.Reason != codersdk.ProvisionerReasonOffline {
		tags += 1000
	}
	switch r.Reason {
	case codersdk.ProvisionerReasonOffline:
		return 0
	case codersdk.ProvisionerReasonUntaggedOnly:
		return len(explicit(d.Tags))
	case codersdk.ProvisionerReasonEngine:
		return tags + 100
	case codersdk.ProvisionerReasonOtherOwner:
		return tags + 200
	case codersdk.ProvisionerReasonVersion:
		return tags + 300
	}
	return tags
}

// StartCommand returns the command that starts a provisioner for the job.
func (n Need) StartCommand() string { return n.start("", n.Tags) }

func (n Need) start(name string, tags codersdk.Tags) string {
	return "coder provisioner start" + n.flags(name, tags)
}

func (n Need) flags(name string, tags codersdk.Tags) string {
	var b strings.Builder
	if n.Organization != "" {
		b.WriteString(" --org " + quoteShell(n.Organization))
	}
	if name != "" {
		b.WriteString(" --name " + quoteShell(name))
	}
	if tags[codersdk.TagScope] == codersdk.ScopeUser {
		b.WriteString(" --tag scope=user")
	}
	own := explicit(tags)
	for _, k := range slices.Sorted(maps.Keys(own)) {
		b.WriteString(" --tag " + quoteShell(quoteListItem(k+"="+own[k])))
	}
	return b.String()
}

// fix returns the command after which d, or another provisioner beside it, can run the
// job. A provisioner without tags or with another value of a tag serves other jobs, so
// it stays unchanged.
func (n Need) fix(d codersdk.ProvisionerDaemon, why codersdk.ProvisionerReason) string {
	keyed := codersdk.ReservedProvisionerKey(d.KeyName) == uuid.Nil && d.KeyName != ""
	has := codersdk.Tags(d.Tags)
	switch {
	case d.KeyName == codersdk.ProvisionerKeyBuiltIn && why == codersdk.ProvisionerReasonOffline:
		return "start the server with --provisioner-daemons above 0, or another provisioner: " + n.StartCommand()
	case d.KeyName == codersdk.ProvisionerKeyBuiltIn:
		return n.StartCommand()
	case why == codersdk.ProvisionerReasonOffline && keyed:
		return fmt.Sprintf("coder provisioner start --name %s, with the key %q in CODER_PROVISIONER_DAEMON_KEY", quoteShell(d.Name), d.KeyName)
	case why == codersdk.ProvisionerReasonOffline:
		return n.start(d.Name, has)
	case why == codersdk.ProvisionerReasonVersion:
		return "install the server's version of coder there, then: " + n.StartCommand()
	case keyed && n.Tags[codersdk.TagScope] != codersdk.ScopeUser:
		return "coder provisioner keys create " + quoteShell(d.KeyName+"-2") + n.flags("", n.Tags) +
			", then coder provisioner start with that key in CODER_PROVISIONER_DAEMON_KEY"
	case why == codersdk.ProvisionerReasonTagMissing && !has.Untagged():
		all := maps.Clone(has)
		maps.Copy(all, n.Tags)
		return n.start(d.Name, all)
	}
	return n.start(d.Name+"-2", n.Tags)
}

// templateFix returns the change of the template after which d can run its jobs; "" if
// none helps.
func (n Need) templateFix(d codersdk.ProvisionerDaemon, r codersdk.ProvisionerRefusal) string {
	var wrong []string
	switch has := explicit(d.Tags); r.Reason {
	case codersdk.ProvisionerReasonUntaggedOnly:
		if n.Type == codersdk.ProvisionerJobTypeWorkspaceBuild {
			return workspaceTags(has)
		}
		return pushTags(has)
	case codersdk.ProvisionerReasonTagMissing, codersdk.ProvisionerReasonTagDiffers:
		wrong = slices.Collect(maps.Keys(r.MissingTags))
		for _, t := range r.DifferentTags {
			wrong = append(wrong, t.Name)
		}
	default:
		return ""
	}
	target := n.target(explicit(d.Tags))
	mine := func(k string) bool { // set by the template, not when its version was pushed
		return n.Type == codersdk.ProvisionerJobTypeWorkspaceBuild && slices.Contains(n.TemplateTags, k)
	}
	inTemplate, pushed := codersdk.Tags{}, codersdk.Tags{}
	for k, v := range target {
		if mine(k) {
			inTemplate[k] = v
		} else {
			pushed[k] = v
		}
	}
	var out []string
	if slices.ContainsFunc(wrong, mine) {
		out = append(out, workspaceTags(inTemplate))
	}
	if slices.ContainsFunc(wrong, func(k string) bool { return !mine(k) }) {
		out = append(out, pushTags(pushed))
	}
	return strings.Join(out, "; ")
}

// target returns the tags that the job could require of a provisioner with the tags
// has: the job's own tags that occur in has, with the values of has, or all of has if
// none occurs.
func (n Need) target(has codersdk.Tags) codersdk.Tags {
	out := codersdk.Tags{}
	for k := range explicit(n.Tags) {
		if v, ok := has[k]; ok {
			out[k] = v
		}
	}
	if len(out) == 0 && n.Tags[codersdk.TagScope] != codersdk.ScopeUser {
		return has
	}
	return out
}
