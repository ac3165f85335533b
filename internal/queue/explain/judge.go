// Package explain answers why a provisioner job does not run: which provisioner of
// its organization refuses it and why, the smallest change after which one would run
// it, how long it waits, and how many slots its queue needs. Its functions are pure:
// they judge values that the caller has read, and texts are for users.
package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Need is what a job requires of a provisioner, and where its tags come from.
type Need struct {
	Engine       string        // such as terraform; "" if any engine can run it
	Organization string        // its name, for commands; "" for the default one
	Tags         codersdk.Tags // normalized
	// TemplateTags are the names of the tags that the template sets with
	// coder_workspace_tags. All others were set when its version was pushed.
	TemplateTags []string
	Type         codersdk.ProvisionerJobType
	// Unserved is true if the built-in provisioners could run the job but do not
	// serve its organization, because the organization's weight is 0.
	Unserved bool
}

// Judge returns the reason why a provisioner of the job's organization does not run
// the job, or ProvisionerReasonTakesIt. since is the time when the provisioner went
// offline or started its latest job; nil if unknown. Its verdict on tags equals that
// of codersdk.Tags.Match.
func (n Need) Judge(d codersdk.ProvisionerDaemon, since *time.Time) codersdk.ProvisionerRefusal {
	r := codersdk.ProvisionerRefusal{
		DaemonID: d.ID, Name: d.Name, KeyName: d.KeyName, Status: d.Status, Version: d.Version, Tags: d.Tags,
	}
	has := codersdk.Tags(d.Tags)
	r.MissingTags, r.DifferentTags = n.compare(has)
	switch {
	case d.APIVersion != "" && codersdk.CheckProvisionerAPIVersion(d.APIVersion) != nil:
		r.Reason, r.Message = codersdk.ProvisionerReasonVersion, fmt.Sprintf(
			"It speaks protocol %.20q, which this server does not: it needs the server's version.",
			d.APIVersion,
		)
	case n.Engine != "" && !slices.Contains(d.Provisioners, n.Engine):
		r.Reason = codersdk.ProvisionerReasonEngine
		r.Message = fmt.Sprintf("It runs %s jobs, and this one is for %s.", strings.Join(d.Provisioners, " and "), n.Engine)
	case has[codersdk.TagScope] != n.Tags[codersdk.TagScope] || has[codersdk.TagOwner] != n.Tags[codersdk.TagOwner]:
		r.Reason, r.Message = codersdk.ProvisionerReasonOtherOwner, n.otherOwner(has)
	case n.Tags.Untagged() && !has.Untagged():
		r.Reason = codersdk.ProvisionerReasonUntaggedOnly
		r.Message = "It has " + describeTags(explicit(has)) + ", and a job without tags is taken by provisioners without tags only."
	case len(r.DifferentTags) > 0:
		r.Reason, r.Message = codersdk.ProvisionerReasonTagDiffers, describeDifferences(r.DifferentTags, r.MissingTags)
	case len(r.MissingTags) > 0:
		r.Reason, r.Message = codersdk.ProvisionerReasonTagMissing, "It lacks "+describeTags(r.MissingTags)+"."
	case d.Status == codersdk.ProvisionerDaemonStatusOffline && n.excludedByWeight(d):
		r.Reason, r.Since = codersdk.ProvisionerReasonOffline, since
		r.Message = "It is the server's own, and these do not serve this organization, whose weight is 0."
	case d.Status == codersdk.ProvisionerDaemonStatusOffline:
		r.Reason, r.Message, r.Since = codersdk.ProvisionerReasonOffline, "It would take the job, but is offline"+describeSince(since)+".", since
	case d.Status == codersdk.ProvisionerDaemonStatusBusy:
		r.Reason, r.Since = codersdk.ProvisionerReasonBusy, since
		r.Message = "It takes such jobs, and is busy" + describeSince(since) + "."
		if d.Slots > 1 {
			r.Message = fmt.Sprintf("It takes such jobs, and all of its %d slots are busy, the last%s.", d.Slots, describeSince(since))
		}
		if d.CurrentJob != nil {
			r.BusyWith = &d.CurrentJob.ID
		}
	default:
		r.Reason, r.Message = codersdk.ProvisionerReasonTakesIt, "It can take the job."
	}
	return r
}

// compare returns the job's tags that has lacks, and those with another value, without
// scope and owner.
func (n Need) compare(has codersdk.Tags) (missing codersdk.Tags, different []codersdk.ProvisionerTagDiffers) {
	job := explicit(n.Tags)
	for _, k := range slices.Sorted(maps.Keys(job)) {
		got, ok := has[k]
		switch {
		case !ok && missing == nil:
			missing = codersdk.Tags{k: job[k]}
		case !ok:
			missing[k] = job[k]
		case got != job[k]:
			different = append(different, codersdk.ProvisionerTagDiffers{Name: k, Job: job[k], Daemon: got})
		}
	}
	return missing, different
}

func (n Need) otherOwner(has codersdk.Tags) string {
	switch {
	case n.Tags[codersdk.TagScope] == codersdk.ScopeUser && has[codersdk.TagScope] == codersdk.ScopeUser:
		return "It only runs jobs of another user."
	case n.Tags[codersdk.TagScope] == codersdk.ScopeUser:
		return "It serves the organization, and the job asks for a provisioner of its user's own (scope=user)."
	}
	return "It takes its own user's jobs only (scope=user), and the job is for a provisioner of the organization."
}

// NearestMiss returns the provisioner that could run the job after the smallest change,
// and that change. It returns nil if a connected provisioner can run the job, or if
// there is none at all. daemons are the provisioners that the caller can read.
func (n Need) NearestMiss(daemons []codersdk.ProvisionerDaemon) *codersdk.ProvisionerNearMiss {
	var best codersdk.ProvisionerDaemon
	var why codersdk.ProvisionerRefusal
	far := -1
	for _, d := range daemons {
		if n.excludedByWeight(d) {
			continue
		}
		r := n.Judge(d, nil)
		if r.Reason == codersdk.ProvisionerReasonTakesIt || r.Reason == codersdk.ProvisionerReasonBusy {
			return nil
		}
		// The name decides between equal distances, so that the answer is stable.
		if at := n.distance(d, r); far < 0 || at < far || at == far && cmp.Compare(d.Name, best.Name) < 0 {
			best, why, far = d, r, at
		}
	}
	if far < 0 {
		return nil
	}
	return &codersdk.ProvisionerNearMiss{
		DaemonID: best.ID, DaemonName: best.Name, Reason: why.Reason, MissingTags: why.MissingTags, DifferentTags: why.DifferentTags,
		Fix: n.fix(best, why.Reason), TemplateFix: n.templateFix(best, why),
	}
}

// Warning returns one line about what to do if no connected provisioner can run the
// job, else "". daemons are the provisioners that the caller can read.
func (n Need) Warning(daemons []codersdk.ProvisionerDaemon) string {
	if !n.Unserved {
		return n.warning(daemons)
	}
	out := n.warning(slices.DeleteFunc(slices.Clone(daemons), n.excludedByWeight))
	if out != "" {
		out += ". Or let the server's own provisioners serve this organization, whose weight is 0: " + n.WeightFix()
	}
	return out
}

// WeightFix returns the command that lets the built-in provisioners run the job; "" if
// the weight of its organization does not prevent that.
func (n Need) WeightFix() string {
	if !n.Unserved {
		return ""
	}
	return "coder organizations edit " + quoteShell(cmp.Or(n.Organization, "default")) + " --provisioner-weight 1"
}

// excludedByWeight reports whether d is a built-in provisioner that is offline because
// built-in provisioners do not serve the organization.
func (n Need) excludedByWeight(d codersdk.ProvisionerDaemon) bool {
	return n.Unserved && d.KeyName == codersdk.ProvisionerKeyBuiltIn && d.Status == codersdk.ProvisionerDaemonStatusOffline
}

func (n Need) warning(daemons []codersdk.ProvisionerDaemon) string {
	if len(daemons) == 0 {
		return "No provisioner is connected to this organization, so the job waits. To start one: " + n.StartCommand()
	}
	var offline int
	for _, d := range daemons {
		switch n.Judge(d, nil).Reason {
		case codersdk.ProvisionerReasonTakesIt, codersdk.ProvisionerReasonBusy:
			return ""
		case codersdk.ProvisionerReasonOffline:
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
		asks = "with " + describeTags(explicit(n.Tags))
		if len(explicit(n.Tags)) == 0 {
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

// Rank orders reasons: 0 for a provisioner that runs the job, and more the further a
// provisioner is from running it.
func Rank(r codersdk.ProvisionerReason) int {
	return slices.Index([]codersdk.ProvisionerReason{
		codersdk.ProvisionerReasonTakesIt, codersdk.ProvisionerReasonBusy, codersdk.ProvisionerReasonOffline, codersdk.ProvisionerReasonTagMissing,
		codersdk.ProvisionerReasonTagDiffers,
		codersdk.ProvisionerReasonUntaggedOnly, codersdk.ProvisionerReasonOtherOwner, codersdk.ProvisionerReasonEngine, codersdk.ProvisionerReasonVersion,
	}, r)
}
