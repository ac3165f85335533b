package prebuild

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Rules are the reactions to failures.
type Rules struct {
	// Backoff is the pause of a preset after a failure, multiplied by the number of failures in
	// a row.
	Backoff time.Duration
	// Lookback is how long a failure is considered.
	Lookback time.Duration
	// Limit is the number of failures in a row after which a preset is suspended until its
	// template has another active version or its prebuilt workspaces are invalidated; 0 for no
	// limit.
	Limit int
}

// preset is a preset of the active version of a template.
type preset struct {
	id       uuid.UUID
	name     string
	desired  int           // the larger of defined and demand, as far as the budget reaches
	defined  int           // by the template, at this time
	demand   int           // estimated; 0 without a budget
	ttl      time.Duration // 0 for no maximum age
	failures int           // number in a row
	failed   time.Time     // time of the last failure
}

// workspace is a prebuilt workspace with its latest build.
type workspace struct {
	id, build, job, version, preset uuid.UUID
	created, since                  time.Time // since is the end of the build or, while it runs, its start
	number                          int
	transition                      codersdk.WorkspaceTransition
	status                          codersdk.ProvisionerJobStatus
	ready                           bool
}

// situation is the state of the prebuilt workspaces of a template.
type situation struct {
	labels
	templateID, organizationID, version uuid.UUID // version is the active version
	invalidated                         time.Time // older workspaces are replaced
	presets                             []preset
	workspaces                          []workspace // the oldest first
}

// action is an action on one workspace.
type action struct {
	do        verb
	workspace workspace // for cancel and remove
	preset    uuid.UUID // for create
}

type verb int

const (
	create verb = iota
	cancel      // a build that no provisioner has started
	remove
)

// keptFailures is the number of failed workspaces of a preset that are kept for troubleshooting.
const keptFailures = 3

// decide returns the next actions, deletions first. Stopped workspaces and running builds are left
// alone.
func (s situation) decide(now time.Time, r Rules) []action {
	var out []action
	living, failed := map[uuid.UUID][]workspace{}, map[uuid.UUID]int{}
	for _, w := range slices.Backward(s.workspaces) { // the newest failures are kept
		over := w.status != codersdk.ProvisionerJobStatusPending && w.status != codersdk.ProvisionerJobStatusRunning &&
			w.status != codersdk.ProvisionerJobStatusCanceling
		p := s.wanted(w)
		switch {
		case w.transition == codersdk.WorkspaceTransitionStop:
		case w.transition == codersdk.WorkspaceTransitionDelete:
			if over && now.Sub(w.since) >= r.Backoff*time.Duration(w.number-1) {
				out = append(out, action{do: remove, workspace: w})
			}
		case p == nil && w.status == codersdk.ProvisionerJobStatusPending:
			out = append(out, action{do: cancel, workspace: w})
		case p == nil && over:
			out = append(out, action{do: remove, workspace: w})
		case p == nil: // it is removed once the build has finished
		case over && w.status != codersdk.ProvisionerJobStatusSucceeded:
			if failed[p.id]++; failed[p.id] > keptFailures {
				out = append(out, action{do: remove, workspace: w})
			}
		case over && p.ttl > 0 && now.Sub(w.created) > p.ttl:
			out = append(out, action{do: remove, workspace: w})
		default:
			living[p.id] = append(living[p.id], w)
		}
	}
	for _, p := range s.presets {
		out = append(out, p.decide(living[p.id], now, r)...)
	}
	slices.SortStableFunc(out, func(a, b action) int { return int(b.do) - int(a.do) })
	return out
}

// wanted returns the preset of a workspace, nil if the workspace is no longer wanted.
func (s situation) wanted(w workspace) *preset {
	if w.version != s.version || !w.created.After(s.invalidated) {
		return nil
	}
	if i := slices.IndexFunc(s.presets, func(p preset) bool { return p.id == w.preset }); i >= 0 {
		return &s.presets[i]
	}
	return nil
}

// decide returns the actions that bring a preset to the desired number, given its workspaces, the
// newest first.
func (p preset) decide(has []workspace, now time.Time, r Rules) []action {
	var out []action
	if extra := len(has) - p.desired; extra > 0 {
		// Pending builds are removed first, then workspaces that are not ready, then the oldest.
		slices.Reverse(has)
		slices.SortStableFunc(has, func(a, b workspace) int { return rank(a) - rank(b) })
		for _, w := range has[:extra] {
			switch w.status {
			case codersdk.ProvisionerJobStatusPending:
				out = append(out, action{do: cancel, workspace: w})
			case codersdk.ProvisionerJobStatusSucceeded:
				out = append(out, action{do: remove, workspace: w})
			}
		}
		return out
	}
	missing := p.desired - len(has)
	if p.failures > 0 {
		if r.Limit > 0 && p.failures >= r.Limit || now.Sub(p.failed) < min(r.Backoff*time.Duration(p.failures), r.Lookback) {
			return nil
		}
		missing = min(missing, max(0, 1-building(has))) // one attempt at a time
	}
	for range missing {
		out = append(out, action{do: create, preset: p.id})
	}
	return out
}

func rank(w workspace) int {
	switch {
	case w.status == codersdk.ProvisionerJobStatusPending:
		return 0
	case w.status == codersdk.ProvisionerJobStatusSucceeded && !w.ready:
		return 1
	case w.status == codersdk.ProvisionerJobStatusSucceeded:
		return 2
	}
	return 3 // the build runs
}

func building(has []workspace) (n int) {
	for _, w := range has {
		if w.status != codersdk.ProvisionerJobStatusSucceeded {
			n++
		}
	}
	return n
}
