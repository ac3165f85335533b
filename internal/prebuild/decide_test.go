package prebuild

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// TestDecide: what is there, in words, and what is done about it.
func TestDecide(t *testing.T) {
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	active, old := uuid.New(), uuid.New()
	small := uuid.New()
	rules := Rules{Backoff: time.Minute, Lookback: time.Hour, Limit: 3}
	for name, c := range map[string]struct {
		preset     preset
		workspaces string // words of each: status, of what transition, how old
		want       string
	}{
		"nothing there":              {preset{desired: 2}, "", "create create"},
		"nothing wanted":             {preset{}, "", ""},
		"enough":                     {preset{desired: 2}, "ready, building", ""},
		"one missing":                {preset{desired: 2}, "ready", "create"},
		"waiting counts":             {preset{desired: 2}, "pending, pending", ""},
		"too many":                   {preset{desired: 1}, "ready, ready, ready", "remove0 remove1"},
		"too many, some not ready":   {preset{desired: 1}, "ready, succeeded, pending", "remove1 cancel2"},
		"too many are being built":   {preset{desired: 1}, "building, building", ""},
		"stopped":                    {preset{desired: 1}, "stopped", "create"},
		"stopped, of before":         {preset{desired: 1}, "stopped old", "create"},
		"old version":                {preset{desired: 1}, "ready old, pending old, building old, failed old", "remove3 remove0 cancel1 create"},
		"being deleted":              {preset{desired: 1}, "deleting", "create"},
		"delete failed now":          {preset{desired: 0}, "undeleted", ""},
		"delete failed a while ago":  {preset{desired: 0}, "undeleted 2m", "remove0"},
		"expired":                    {preset{desired: 1, ttl: time.Minute}, "ready 2m", "remove0 create"},
		"not yet expired":            {preset{desired: 1, ttl: time.Minute}, "ready 1m", ""},
		"expired while it is built":  {preset{desired: 1, ttl: time.Minute}, "building 2m", ""},
		"failed just now":            {preset{desired: 2, failures: 1, failed: now.Add(-59 * time.Second)}, "failed", ""},
		"failed a minute ago":        {preset{desired: 2, failures: 1, failed: now.Add(-time.Minute)}, "failed", "create"},
		"failed twice":               {preset{desired: 2, failures: 2, failed: now.Add(-time.Minute)}, "failed, failed", ""},
		"failed twice, waited":       {preset{desired: 2, failures: 2, failed: now.Add(-2 * time.Minute)}, "failed, failed", "create"},
		"one is being tried":         {preset{desired: 2, failures: 1, failed: now.Add(-time.Hour)}, "failed, pending", ""},
		"failed too often":           {preset{desired: 2, failures: 3, failed: now.Add(-24 * time.Hour)}, "failed, failed, failed", ""},
		"only some failures be kept": {preset{desired: 1}, "failed, canceled, failed, failed, ready", "remove0"},
	} {
		t.Run(name, func(t *testing.T) {
			p := c.preset
			p.id = small
			s := situation{version: active, presets: []preset{p}, invalidated: now.Add(-100 * time.Hour)}
			for i, words := range strings.Split(c.workspaces, ", ") {
				if words != "" {
					s.workspaces = append(s.workspaces, described(i, words, now, small, active, old))
				}
			}
			var got []string
			for _, a := range s.decide(now, rules) {
				word := [...]string{"create", "cancel", "remove"}[a.do]
				if a.do != create {
					word += fmt.Sprint(a.workspace.id[15])
				}
				got = append(got, word)
			}
			if g := strings.Join(got, " "); g != c.want {
				t.Errorf("got %q, want %q", g, c.want)
			}
		})
	}
}

func described(i int, words string, now time.Time, preset, active, old uuid.UUID) workspace {
	w := workspace{id: uuid.UUID{15: byte(i)}, preset: preset, version: active, number: 1, created: now.Add(time.Duration(i-30) * time.Second), transition: codersdk.WorkspaceTransitionStart}
	w.since = w.created
	for f := range strings.FieldsSeq(words) {
		switch f {
		case "old":
			w.version = old
		case "ready":
			w.status, w.ready = codersdk.ProvisionerJobStatusSucceeded, true
		case "building":
			w.status = codersdk.ProvisionerJobStatusRunning
		case "stopped":
			w.status, w.transition, w.number = codersdk.ProvisionerJobStatusSucceeded, codersdk.WorkspaceTransitionStop, 2
		case "deleting":
			w.status, w.transition, w.number = codersdk.ProvisionerJobStatusRunning, codersdk.WorkspaceTransitionDelete, 2
		case "undeleted":
			w.status, w.transition, w.number = codersdk.ProvisionerJobStatusFailed, codersdk.WorkspaceTransitionDelete, 2
		case "1m", "2m":
			d, _ := time.ParseDuration(f)
			w.created = now.Add(-d)
			w.since = w.created
		default:
			w.status = codersdk.ProvisionerJobStatus(f)
		}
	}
	return w
}

func TestInvalidatedOnesAreNotWanted(t *testing.T) {
	now := time.Now()
	p := preset{id: uuid.New(), desired: 1}
	s := situation{version: uuid.New(), presets: []preset{p}, invalidated: now}
	s.workspaces = []workspace{{preset: p.id, version: s.version, created: now, status: codersdk.ProvisionerJobStatusSucceeded, transition: codersdk.WorkspaceTransitionStart, ready: true}}
	if got := s.decide(now, Rules{}); len(got) != 2 || got[0].do != remove || got[1].do != create {
		t.Errorf("%+v", got)
	}
}
