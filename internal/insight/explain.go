package insight

import (
	"fmt"
	"strings"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// facts are what the automatic stop of a workspace depends on.
type facts struct {
	workspace codersdk.Workspace
	bump      time.Duration // by which activity extends the deadline; 0: it does not
	evidence  []codersdk.ActivityEvidence
	now       time.Time
}

func (f facts) explain() codersdk.WorkspaceActivity {
	out := codersdk.WorkspaceActivity{
		ActivityBumpMS: f.bump.Milliseconds(), LastUsedAt: f.workspace.LastUsedAt, Evidence: f.evidence,
	}
	b := f.workspace.LatestBuild
	switch {
	case b.Status == codersdk.WorkspaceStatusRunning:
		out.Deadline, out.MaxDeadline = b.Deadline, b.MaxDeadline
		out.Reasons = f.running(b)
	case b.Transition == codersdk.WorkspaceTransitionStop:
		out.Reasons = f.stopped(b)
	default:
		out.Reasons = []string{fmt.Sprintf("The workspace is %s. Its deadline is set when a start finishes.", b.Status)}
	}
	return out
}

// running explains the deadline of a running workspace.
func (f facts) running(b codersdk.WorkspaceBuild) []string {
	if b.Deadline == nil {
		return []string{
			"The workspace does not stop automatically: neither the workspace nor its template sets a duration, and the template requires no stop.",
		}
	}
	out := []string{fmt.Sprintf("The workspace stops at %s, %s.", moment(*b.Deadline), f.distance(*b.Deadline))}
	switch {
	case b.MaxDeadline != nil && !b.Deadline.Before(*b.MaxDeadline):
		out = append(out, "The template requires this stop, so activity does not extend it.")
	case f.bump == 0:
		out = append(out, "The activity bump of the template is 0, so activity does not extend it.")
	default:
		out = append(out, f.extension(*b.Deadline))
		if b.MaxDeadline != nil {
			out = append(out, fmt.Sprintf("It cannot be extended beyond %s, when the template requires a stop.", moment(*b.MaxDeadline)))
		}
	}
	return append(out, f.ignored()...)
}

// extension explains how activity moves a deadline.
func (f facts) extension(deadline time.Time) string {
	rule := fmt.Sprintf("Activity keeps the stop at least %s ahead", length(f.bump))
	if open := f.open(true); open != "" {
		return fmt.Sprintf("%s, and there is activity now: %s.", rule, open)
	}
	last := f.workspace.LastUsedAt
	if last.IsZero() || last.Before(f.workspace.LatestBuild.CreatedAt) {
		return rule + ", and there was none since the start."
	}
	// The last activity set the deadline if nothing later did; deadlines are written at
	// most once a minute.
	if moved := deadline.Sub(last.Add(f.bump)); moved.Abs() <= 2*time.Minute {
		return fmt.Sprintf("%s. The last activity, at %s, set it.", rule, moment(last))
	}
	return fmt.Sprintf("%s. The last activity was at %s.", rule, moment(last))
}

// ignored names open connections that do not extend the deadline.
func (f facts) ignored() []string {
	if open := f.open(false); open != "" {
		return []string{fmt.Sprintf("Not counted as activity: %s.", open)}
	}
	return nil
}

// open lists the open connections whose type counts as activity, or does not.
func (f facts) open(counted bool) string {
	var out []string
	for _, e := range f.evidence {
		if e.Open > 0 && e.Counts == counted {
			out = append(out, plural(e.Open, nouns[e.Type]))
		}
	}
	return strings.Join(out, ", ")
}

// stopped explains why a workspace stopped.
func (f facts) stopped(b codersdk.WorkspaceBuild) []string {
	var out []string
	switch b.Reason {
	case codersdk.BuildReasonAutostop:
		out = append(out,
			fmt.Sprintf("The workspace stopped automatically at %s, because its deadline had passed.", moment(b.CreatedAt)), f.lastUse(b.CreatedAt))
	case codersdk.BuildReasonDormancy:
		out = append(out,
			fmt.Sprintf("The workspace stopped at %s, because it was not used for as long as its template allows.", moment(b.CreatedAt)), f.lastUse(b.CreatedAt))
	default:
		out = append(out, fmt.Sprintf("%s stopped the workspace at %s.", b.InitiatorName, moment(b.CreatedAt)))
	}
	if next := f.workspace.NextStartAt; next != nil {
		out = append(out, fmt.Sprintf("It starts automatically at %s, %s.", moment(*next), f.distance(*next)))
	}
	if at := f.workspace.DeletingAt; at != nil {
		out = append(out, fmt.Sprintf("It is dormant and will be deleted at %s, %s, unless a user activates it.", moment(*at), f.distance(*at)))
	}
	return out
}

// lastUse names the last activity before a stop.
func (f facts) lastUse(stop time.Time) string {
	last := f.workspace.LastUsedAt
	if last.IsZero() {
		return "There is no record of activity."
	}
	return fmt.Sprintf("The last activity was at %s, %s before.", moment(last), length(stop.Sub(last)))
}

// nouns name one connection of each type.
var nouns = map[codersdk.ConnectionType]string{
	codersdk.ConnectionTypeSSH: "SSH session", codersdk.ConnectionTypeVSCode: "VS Code session", codersdk.ConnectionTypeJetBrains: "JetBrains session",
	codersdk.ConnectionTypeReconnectingPTY: "web terminal", codersdk.ConnectionTypeWorkspaceApp: "app connection",
	codersdk.ConnectionTypePortForwarding: "forwarded port",
}

func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// distance returns how far a time is from now, such as "in 1h 30m" or "5m ago".
func (f facts) distance(t time.Time) string {
	if d := t.Sub(f.now); d >= 0 {
		return "in " + length(d)
	}
	return length(f.now.Sub(t)) + " ago"
}

// length returns a duration in its two largest units, without seconds.
func length(d time.Duration) string {
	minutes := int64(d.Abs().Round(time.Minute) / time.Minute)
	days, hours, minutes := minutes/(24*60), minutes/60%24, minutes%60
	switch {
	case days > 0 && hours > 0:
		return fmt.Sprintf("%dd %dh", days, hours)
	case days > 0:
		return fmt.Sprintf("%dd", days)
	case hours > 0 && minutes > 0:
		return fmt.Sprintf("%dh %dm", hours, minutes)
	case hours > 0:
		return fmt.Sprintf("%dh", hours)
	}
	return fmt.Sprintf("%dm", minutes)
}
