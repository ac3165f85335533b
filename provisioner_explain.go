package coder

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// ProvisionerNeed is what a job asks of a provisioner, and what is known of
// where that comes from. It judges provisioners: the rule behind the answer to
// "why is it pending?".
type ProvisionerNeed struct {
	Engine       string // such as terraform; "" when it is not known and any will do
	Organization string // its name, for commands; "" for the default one
	Tags         Tags   // normalized
	// TemplateTags are the names of the tags that the template's own
	// coder_workspace_tags gives; the others were given when its version was pushed.
	TemplateTags []string
	Type         ProvisionerJobType
	// Unserved says that the server has provisioners of its own that would take
	// the job, but do not serve its organization: its weight is 0.
	Unserved bool
}

// Judge says why a provisioner of the job's organization does not take it, or
// that it does. Since is when it went offline, or began its latest job; nil
// when that is not known. It agrees with Tags.Match.
func (n ProvisionerNeed) Judge(d ProvisionerDaemon, since *time.Time) ProvisionerRefusal {
	r := ProvisionerRefusal{
		DaemonID: d.ID, Name: d.Name, KeyName: d.KeyName, Status: d.Status, Version: d.Version, Tags: d.Tags,
	}
	has := Tags(d.Tags)
	r.MissingTags, r.DifferentTags = n.compare(has)
	switch {
	case d.APIVersion != "" && CheckProvisionerAPIVersion(d.APIVersion) != nil:
		r.Reason, r.Message = ProvisionerReasonVersion, fmt.Sprintf("It speaks protocol %.20q, which this server does not: it needs the server's version.", d.APIVersion)
	case n.Engine != "" && !slices.Contains(d.Provisioners, n.Engine):
		r.Reason, r.Message = ProvisionerReasonEngine, fmt.Sprintf("It runs %s jobs, and this one is for %s.", strings.Join(d.Provisioners, " and "), n.Engine)
	case has[TagScope] != n.Tags[TagScope] || has[TagOwner] != n.Tags[TagOwner]:
		r.Reason, r.Message = ProvisionerReasonOtherOwner, n.otherOwner(has)
	case n.Tags.Untagged() && !has.Untagged():
		r.Reason, r.Message = ProvisionerReasonUntaggedOnly, "It has "+tagWords(has.explicit())+", and a job without tags is taken by provisioners without tags only."
	case len(r.DifferentTags) > 0:
		r.Reason, r.Message = ProvisionerReasonTagDiffers, differs(r.DifferentTags, r.MissingTags)
	case len(r.MissingTags) > 0:
		r.Reason, r.Message = ProvisionerReasonTagMissing, "It lacks "+tagWords(r.MissingTags)+"."
	case d.Status == ProvisionerDaemonStatusOffline && n.leftOut(d):
		r.Reason, r.Since = ProvisionerReasonOffline, since
		r.Message = "It is the server's own, and these do not serve this organization, whose weight is 0."
	case d.Status == ProvisionerDaemonStatusOffline:
		r.Reason, r.Message, r.Since = ProvisionerReasonOffline, "It would take the job, but is offline"+sinceWords(since)+".", since
	case d.Status == ProvisionerDaemonStatusBusy:
		r.Reason, r.Since = ProvisionerReasonBusy, since
		r.Message = "It takes such jobs, and is busy" + sinceWords(since) + "."
		if d.Slots > 1 {
			r.Message = fmt.Sprintf("It takes such jobs, and all of its %d slots are busy, the last%s.", d.Slots, sinceWords(since))
		}
		if d.CurrentJob != nil {
			r.BusyWith = &d.CurrentJob.ID
		}
	default:
		r.Reason, r.Message = ProvisionerReasonTakesIt, "It can take the job."
	}
	return r
}

// compare gives the job's tags that has lacks, and those that it has otherwise.
// Scope and owner are not among them.
func (n ProvisionerNeed) compare(has Tags) (missing Tags, different []ProvisionerTagDiffers) {
	job := n.Tags.explicit()
	for _, k := range slices.Sorted(maps.Keys(job)) {
		got, ok := has[k]
		switch {
		case !ok && missing == nil:
			missing = Tags{k: job[k]}
		case !ok:
			missing[k] = job[k]
		case got != job[k]:
			different = append(different, ProvisionerTagDiffers{Name: k, Job: job[k], Daemon: got})
		}
	}
	return missing, different
}

func (n ProvisionerNeed) otherOwner(has Tags) string {
	switch {
	case n.Tags[TagScope] == ScopeUser && has[TagScope] == ScopeUser:
		return "It takes the jobs of another user only."
	case n.Tags[TagScope] == ScopeUser:
		return "It serves the organization, and the job asks for a provisioner of its user's own (scope=user)."
	}
	return "It takes its own user's jobs only (scope=user), and the job is for a provisioner of the organization."
}

// NearestMiss is the provisioner that would take the job after the smallest
// change, and that change: nil when one that is there takes such jobs already,
// or when there is none at all. Daemons are those that the asker may see.
func (n ProvisionerNeed) NearestMiss(daemons []ProvisionerDaemon) *ProvisionerNearMiss {
	var best ProvisionerDaemon
	var why ProvisionerRefusal
	far := -1
	for _, d := range daemons {
		if n.leftOut(d) {
			continue
		}
		r := n.Judge(d, nil)
		if r.Reason == ProvisionerReasonTakesIt || r.Reason == ProvisionerReasonBusy {
			return nil
		}
		// Of two as far away the one that was made first by name, so that the answer is stable.
		if at := n.distance(d, r); far < 0 || at < far || at == far && cmp.Compare(d.Name, best.Name) < 0 {
			best, why, far = d, r, at
		}
	}
	if far < 0 {
		return nil
	}
	return &ProvisionerNearMiss{
		DaemonID: best.ID, DaemonName: best.Name, Reason: why.Reason, MissingTags: why.MissingTags, DifferentTags: why.DifferentTags,
		Fix: n.fix(best, why.Reason), TemplateFix: n.templateFix(best, why),
	}
}

// Warning is one line about what to do when no provisioner that is there could
// take the job, "" when one could. Daemons are those that the asker may see.
func (n ProvisionerNeed) Warning(daemons []ProvisionerDaemon) string {
	if !n.Unserved {
		return n.warning(daemons)
	}
	out := n.warning(slices.DeleteFunc(slices.Clone(daemons), n.leftOut))
	if out != "" {
		out += ". Or let the server's own provisioners serve this organization, whose weight is 0: " + n.WeightFix()
	}
	return out
}

// WeightFix is the command that lets the server's own provisioners take the
// job, "" when its organization's weight is not what keeps them from it.
func (n ProvisionerNeed) WeightFix() string {
	if !n.Unserved {
		return ""
	}
	return "coder organizations edit " + shellWord(cmp.Or(n.Organization, "default")) + " --provisioner-weight 1"
}

// leftOut says of a daemon of the server's own that it is not there because
// these do not serve the organization.
func (n ProvisionerNeed) leftOut(d ProvisionerDaemon) bool {
	return n.Unserved && d.KeyName == ProvisionerKeyBuiltIn && d.Status == ProvisionerDaemonStatusOffline
}

func (n ProvisionerNeed) warning(daemons []ProvisionerDaemon) string {
	if len(daemons) == 0 {
		return "No provisioner is connected to this organization, so the job waits. To start one: " + n.StartCommand()
	}
	var offline int
	for _, d := range daemons {
		switch n.Judge(d, nil).Reason {
		case ProvisionerReasonTakesIt, ProvisionerReasonBusy:
			return ""
		case ProvisionerReasonOffline:
			offline++
		}
	}
	miss := n.NearestMiss(daemons)
	if offline > 0 {
		who := "The provisioner that could take this job is"
		if offline > 1 {
			who = fmt.Sprintf("All %d provisioners that could take this job are", offline)
		}
		return who + " offline, so it waits. To start one again: " + miss.Fix
	}
	asks := "without tags"
	if !n.Tags.Untagged() {
		asks = "with " + tagWords(n.Tags.explicit())
		if len(n.Tags.explicit()) == 0 {
			asks = "of this user's own (scope=user)"
		}
	}
	if n.Engine != "" {
		asks = "for " + n.Engine + " " + asks
	}
	out := fmt.Sprintf("No provisioner takes jobs %s, so the job waits. The nearest is %q. To start one that does: %s", asks, miss.DaemonName, miss.Fix)
	if miss.TemplateFix != "" {
		out += ". Or in the template: " + miss.TemplateFix
	}
	return out
}

// distance counts what would have to change.
func (n ProvisionerNeed) distance(d ProvisionerDaemon, r ProvisionerRefusal) int {
	tags := len(r.MissingTags) + len(r.DifferentTags)
	if d.Status == ProvisionerDaemonStatusOffline && r.Reason != ProvisionerReasonOffline {
		tags += 1000
	}
	switch r.Reason {
	case ProvisionerReasonOffline:
		return 0
	case ProvisionerReasonUntaggedOnly:
		return len(Tags(d.Tags).explicit())
	case ProvisionerReasonEngine:
		return tags + 100
	case ProvisionerReasonOtherOwner:
		return tags + 200
	case ProvisionerReasonVersion:
		return tags + 300
	}
	return tags
}

// StartCommand is the command that starts a provisioner that takes the job.
func (n ProvisionerNeed) StartCommand() string { return n.start("", n.Tags) }

func (n ProvisionerNeed) start(name string, tags Tags) string {
	return "coder provisioner start" + n.flags(name, tags)
}

func (n ProvisionerNeed) flags(name string, tags Tags) string {
	var b strings.Builder
	if n.Organization != "" {
		b.WriteString(" --org " + shellWord(n.Organization))
	}
	if name != "" {
		b.WriteString(" --name " + shellWord(name))
	}
	if tags[TagScope] == ScopeUser {
		b.WriteString(" --tag scope=user")
	}
	own := tags.explicit()
	for _, k := range slices.Sorted(maps.Keys(own)) {
		b.WriteString(" --tag " + shellWord(listItem(k+"="+own[k])))
	}
	return b.String()
}

// fix is the command that makes of d, or of another one beside it, a
// provisioner that takes the job. One that serves jobs without tags, or has
// another value of a tag, serves others, so it is left as it is.
func (n ProvisionerNeed) fix(d ProvisionerDaemon, why ProvisionerReason) string {
	keyed := ReservedProvisionerKey(d.KeyName) == uuid.Nil && d.KeyName != ""
	has := Tags(d.Tags)
	switch {
	case d.KeyName == ProvisionerKeyBuiltIn && why == ProvisionerReasonOffline:
		return "start the server with --provisioner-daemons above 0, or another provisioner: " + n.StartCommand()
	case d.KeyName == ProvisionerKeyBuiltIn:
		return n.StartCommand()
	case why == ProvisionerReasonOffline && keyed:
		return fmt.Sprintf("coder provisioner start --name %s, with the key %q in CODER_PROVISIONER_DAEMON_KEY", shellWord(d.Name), d.KeyName)
	case why == ProvisionerReasonOffline:
		return n.start(d.Name, has)
	case why == ProvisionerReasonVersion:
		return "install the server's version of coder there, then: " + n.StartCommand()
	case keyed && n.Tags[TagScope] != ScopeUser:
		return "coder provisioner keys create " + shellWord(d.KeyName+"-2") + n.flags("", n.Tags) + ", then coder provisioner start with that key in CODER_PROVISIONER_DAEMON_KEY"
	case why == ProvisionerReasonTagMissing && !has.Untagged():
		all := maps.Clone(has)
		maps.Copy(all, n.Tags)
		return n.start(d.Name, all)
	}
	return n.start(d.Name+"-2", n.Tags)
}

// templateFix is what the template would have to say for d to take its jobs.
func (n ProvisionerNeed) templateFix(d ProvisionerDaemon, r ProvisionerRefusal) string {
	var wrong []string
	switch has := Tags(d.Tags).explicit(); r.Reason {
	case ProvisionerReasonUntaggedOnly:
		if n.Type == ProvisionerJobTypeWorkspaceBuild {
			return workspaceTags(has)
		}
		return pushTags(has)
	case ProvisionerReasonTagMissing, ProvisionerReasonTagDiffers:
		wrong = slices.Collect(maps.Keys(r.MissingTags))
		for _, t := range r.DifferentTags {
			wrong = append(wrong, t.Name)
		}
	default:
		return ""
	}
	target := n.target(Tags(d.Tags).explicit())
	mine := func(k string) bool { // said by the template, not when its version was pushed
		return n.Type == ProvisionerJobTypeWorkspaceBuild && slices.Contains(n.TemplateTags, k)
	}
	said, pushed := Tags{}, Tags{}
	for k, v := range target {
		if mine(k) {
			said[k] = v
		} else {
			pushed[k] = v
		}
	}
	var out []string
	if slices.ContainsFunc(wrong, mine) {
		out = append(out, workspaceTags(said))
	}
	if slices.ContainsFunc(wrong, func(k string) bool { return !mine(k) }) {
		out = append(out, pushTags(pushed))
	}
	return strings.Join(out, "; ")
}

// target is what the job may ask of a provisioner with the tags has: of its own
// tags those that has knows, with its values, or when there is none all of them.
func (n ProvisionerNeed) target(has Tags) Tags {
	out := Tags{}
	for k := range n.Tags.explicit() {
		if v, ok := has[k]; ok {
			out[k] = v
		}
	}
	if len(out) == 0 && n.Tags[TagScope] != ScopeUser {
		return has
	}
	return out
}

func workspaceTags(t Tags) string {
	var b strings.Builder
	for i, k := range slices.Sorted(maps.Keys(t)) {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString(" " + hclText(k) + " = " + hclText(t[k]))
	}
	if len(t) > 0 {
		b.WriteString(" ")
	}
	return `tags = {` + b.String() + `} in data "coder_workspace_tags"`
}

func pushTags(t Tags) string {
	if len(t) == 0 {
		return `coder templates push --provisioner-tag="-"`
	}
	out := "coder templates push"
	for _, k := range slices.Sorted(maps.Keys(t)) {
		out += " --provisioner-tag " + shellWord(listItem(k+"="+t[k]))
	}
	return out
}

// explicit gives the tags without scope and owner.
func (t Tags) explicit() Tags {
	out := maps.Clone(t)
	delete(out, TagScope)
	delete(out, TagOwner)
	return out
}

// shownTags bounds how many tags one sentence names.
const shownTags = 8

// tagWords names tags in a sentence.
func tagWords(t Tags) string {
	keys := slices.Sorted(maps.Keys(t))
	var parts []string
	for _, k := range keys[:min(len(keys), shownTags)] {
		parts = append(parts, k+"="+t[k])
	}
	word := "the tags "
	if len(keys) == 1 {
		word = "the tag "
	}
	return word + strings.Join(parts, ", ") + more(len(keys))
}

func more(n int) string {
	if n <= shownTags {
		return ""
	}
	return fmt.Sprintf(" and %d more", n-shownTags)
}

func differs(different []ProvisionerTagDiffers, missing Tags) string {
	var parts []string
	for _, d := range different[:min(len(different), shownTags)] {
		parts = append(parts, fmt.Sprintf("it has %s=%s, the job asks for %s=%s", d.Name, d.Daemon, d.Name, d.Job))
	}
	s := strings.Join(parts, "; ") + more(len(different))
	if len(missing) > 0 {
		s += "; it lacks " + tagWords(missing)
	}
	return "I" + s[1:] + "."
}

func sinceWords(t *time.Time) string {
	if t == nil {
		return ""
	}
	return " since " + t.UTC().Format(time.RFC3339)
}

// shellWord quotes a word for a POSIX shell when it has to be.
func shellWord(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_=./:@%+,", r))
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// listItem quotes an item of a flag that takes a list split by commas.
func listItem(s string) string {
	if !strings.ContainsAny(s, ",\"\n") {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}

// hclText quotes text for Terraform's language.
func hclText(s string) string {
	return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(strconv.Quote(s))
}

// Rank is 0 for a provisioner that takes the job, and grows with what keeps it.
func (r ProvisionerReason) Rank() int {
	return slices.Index([]ProvisionerReason{
		ProvisionerReasonTakesIt, ProvisionerReasonBusy, ProvisionerReasonOffline, ProvisionerReasonTagMissing, ProvisionerReasonTagDiffers,
		ProvisionerReasonUntaggedOnly, ProvisionerReasonOtherOwner, ProvisionerReasonEngine, ProvisionerReasonVersion,
	}, r)
}
