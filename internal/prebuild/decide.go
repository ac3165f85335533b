package prebuild

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
)

// Rules are what failures mean.
type Rules struct {
	// Backoff is how long nothing is made of a preset after a failure, times the
	// failures in a row.
	Backoff time.Duration
	// Lookback is how long a failure is remembered so.
	Lookback time.Duration
	// Limit is after how many failures in a row nothing is made of a preset any
	// more until its template has another active version or its prebuilt
	// workspaces are invalidated; 0 for never.
	Limit int
}

// preset is a preset of the active version of a template.
type preset struct {
	id       uuid.UUID
	name     string
	desired  int
	ttl      time.Duration // 0: they become as old as they like
	failures int           // in a row
	failed   time.Time     // the last of them
}

// workspace is a prebuilt workspace with its latest build.
type workspace struct {
	id, build, job, version, preset uuid.UUID
	created, since                  time.Time // since is when the build ended or, while it has not, began
	number                          int
	transition                      coder.WorkspaceTransition
	status                          coder.ProvisionerJobStatus
	ready                           bool
}

// situation is all that is to be known of the prebuilt workspaces of a template.
type situation struct {
	labels
	templateID, organizationID, version uuid.UUID // the active version
	invalidated                         time.Time // older ones are not wanted
	presets                             []preset
	workspaces                          []workspace // the oldest first
}

// action is what is to be done about one workspace.
type action struct {
	do        verb
	workspace workspace // of cancel and remove
	preset    uuid.UUID // of create
}

type verb int

const (
	create verb = iota
	cancel      // a build that nobody took up yet
	remove
)

// keptFailures is how many workspaces of a preset that could not be made are
// left for people to look into.
const keptFailures = 3

// decide gives what is to be done now, deletions first. Those that were stopped
// are left alone, and so is what is being built.
func (s situation) decide(now time.Time, r Rules) []action {
	var out []action
	living, failed := map[uuid.UUID][]workspace{}, map[uuid.UUID]int{}
	for _, w := range slices.Backward(s.workspaces) { // of failures the newest are kept
		over := w.status != coder.ProvisionerJobStatusPending && w.status != coder.ProvisionerJobStatusRunning && w.status != coder.ProvisionerJobStatusCanceling
		p := s.wanted(w)
		switch {
		case w.transition == coder.WorkspaceTransitionStop:
		case w.transition == coder.WorkspaceTransitionDelete:
			if over && now.Sub(w.since) >= r.Backoff*time.Duration(w.number-1) {
				out = append(out, action{do: remove, workspace: w})
			}
		case p == nil && w.status == coder.ProvisionerJobStatusPending:
			out = append(out, action{do: cancel, workspace: w})
		case p == nil && over:
			out = append(out, action{do: remove, workspace: w})
		case p == nil: // it is being made, and goes when it has been
		case over && w.status != coder.ProvisionerJobStatusSucceeded:
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

// wanted gives the preset that a workspace is one of, nil when it is not wanted
// any more.
func (s situation) wanted(w workspace) *preset {
	if w.version != s.version || !w.created.After(s.invalidated) {
		return nil
	}
	if i := slices.IndexFunc(s.presets, func(p preset) bool { return p.id == w.preset }); i >= 0 {
		return &s.presets[i]
	}
	return nil
}

// decide says how a preset comes to as many as it wants, given those it has, the
// newest first.
func (p preset) decide(has []workspace, now time.Time, r Rules) []action {
	var out []action
	if extra := len(has) - p.desired; extra > 0 {
		// Those that are not begun go first, then those not ready, then the oldest.
		slices.Reverse(has)
		slices.SortStableFunc(has, func(a, b workspace) int { return rank(a) - rank(b) })
		for _, w := range has[:extra] {
			switch w.status {
			case coder.ProvisionerJobStatusPending:
				out = append(out, action{do: cancel, workspace: w})
			case coder.ProvisionerJobStatusSucceeded:
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
		missing = min(missing, max(0, 1-building(has))) // one is tried
	}
	for range missing {
		out = append(out, action{do: create, preset: p.id})
	}
	return out
}

func rank(w workspace) int {
	switch {
	case w.status == coder.ProvisionerJobStatusPending:
		return 0
	case w.status == coder.ProvisionerJobStatusSucceeded && !w.ready:
		return 1
	case w.status == coder.ProvisionerJobStatusSucceeded:
		return 2
	}
	return 3 // it is being made
}

func building(has []workspace) (n int) {
	for _, w := range has {
		if w.status != coder.ProvisionerJobStatusSucceeded {
			n++
		}
	}
	return n
}
