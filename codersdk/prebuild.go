package codersdk

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// PrebuildsUsername is the name of the account that owns prebuilt workspaces until
// a user claims them, and of the group whose quota applies to them.
const PrebuildsUsername = "prebuilds"

// PrebuildsUserID returns the ID of that account, the same in every deployment.
func PrebuildsUserID() uuid.UUID {
	return uuid.UUID{0x9d, 0x3c, 0x2a, 0x41, 0x5e, 0x07, 0x4b, 0x68, 0x8f, 0x1d, 0x70, 0x72, 0x65, 0x62, 0x6c, 0x64}
}

// PrebuildsSettings are the deployment-wide settings of prebuilt workspaces.
type PrebuildsSettings struct {
	ReconciliationPaused bool `json:"reconciliation_paused"`
}

// InvalidatePresetsResponse lists the presets whose prebuilt workspaces are
// replaced.
type InvalidatePresetsResponse struct {
	Invalidated []InvalidatedPreset `json:"invalidated"`
}

// InvalidatedPreset is a preset whose prebuilt workspaces are replaced.
type InvalidatedPreset struct {
	PresetName          string `json:"preset_name"`
	TemplateName        string `json:"template_name"`
	TemplateVersionName string `json:"template_version_name"`
}

// ReinitializationReason is the reason why an agent must initialize again.
type ReinitializationReason string

// ReinitializationReasonPrebuildClaimed: a user claimed the prebuilt workspace.
const ReinitializationReasonPrebuildClaimed ReinitializationReason = "prebuild_claimed"

// ReinitializationEvent asks an agent to fetch its manifest again.
type ReinitializationEvent struct {
	Reason      ReinitializationReason `json:"reason"`
	WorkspaceID uuid.UUID              `json:"workspaceID"`
}

// MaxPrebuilds is the largest number of prebuilt workspaces of a preset, and the largest prebuild
// budget of a template.
const MaxPrebuilds = 1000

// maxPrebuildSchedules is the largest number of prebuild schedules of a preset.
const maxPrebuildSchedules = 50

// PresetPrebuilds is how many workspaces of a preset are kept ready, and when.
type PresetPrebuilds struct {
	// Instances applies at times that no schedule covers.
	Instances int64 `json:"instances"`
	// TTLSeconds is the maximum age of a prebuilt workspace, after which it is
	// replaced; 0 for no maximum.
	TTLSeconds int64 `json:"ttl_seconds,omitempty"`
	// Timezone applies to Schedules, such as Europe/Lisbon.
	Timezone  string             `json:"timezone,omitempty"`
	Schedules []PrebuildSchedule `json:"schedules,omitempty"`
}

// PrebuildSchedule is how many workspaces are kept ready in the hours of Cron.
type PrebuildSchedule struct {
	Cron      string `json:"cron"`
	Instances int64  `json:"instances"`
}

// Check checks the settings: the ranges of numbers, the syntax of schedules, that
// no two schedules cover the same hour, and that the time zone exists.
func (p PresetPrebuilds) Check() error {
	if err := checkInstances(p.Instances); err != nil {
		return err
	}
	switch {
	case p.TTLSeconds < 0:
		return Errorf(CodeInvalid, "expiration_policy.ttl is %d; use a number of seconds, or 0 for no maximum age", p.TTLSeconds)
	case len(p.Schedules) > maxPrebuildSchedules:
		return Errorf(CodeInvalid, "there are %d schedules; at most %d are allowed", len(p.Schedules), maxPrebuildSchedules)
	case len(p.Schedules) > 0:
		if _, err := prebuildZone(p.Timezone); err != nil {
			return err
		}
	}
	hours := make([]hourSet, len(p.Schedules))
	for i, s := range p.Schedules {
		if err := checkInstances(s.Instances); err != nil {
			return err
		}
		var err error
		if hours[i], err = parseHours(s.Cron); err != nil {
			return err
		}
		if !hours[i].overlaps(hours[i]) {
			return Errorf(CodeInvalid, "the schedule %q never matches; change its days", s.Cron)
		}
		for j := range i {
			if hours[i].overlaps(hours[j]) {
				return Errorf(CodeInvalid, "the schedules %q and %q overlap; change one so that at most one matches every hour", p.Schedules[j].Cron, s.Cron)
			}
		}
	}
	return nil
}

func checkInstances(n int64) error {
	if n < 0 || n > MaxPrebuilds {
		return Errorf(CodeInvalid, "instances is %d; use a number from 0 to %d", n, MaxPrebuilds)
	}
	return nil
}

func prebuildZone(name string) (*time.Location, error) {
	z, err := time.LoadLocation(name)
	if err != nil || name == "" || name == "Local" {
		return nil, Errorf(CodeInvalid, "scheduling.timezone %.60q is not a known time zone; use a name such as Europe/Lisbon or UTC", name)
	}
	return z, nil
}

// Desired returns how many workspaces must be ready at now. Schedules that cannot
// be parsed are ignored.
func (p PresetPrebuilds) Desired(now time.Time) int64 {
	if len(p.Schedules) == 0 {
		return p.Instances
	}
	zone, err := prebuildZone(p.Timezone)
	if err != nil {
		return p.Instances
	}
	for _, s := range p.Schedules {
		if h, err := parseHours(s.Cron); err == nil && h.has(now.In(zone)) {
			return s.Instances
		}
	}
	return p.Instances
}

// PrebuildsOf returns the prebuild settings of the preset, nil for none.
func (p StoredPreset) PrebuildsOf() *PresetPrebuilds {
	if p.Prebuilds == nil && p.DesiredPrebuildInstances > 0 { // rows of versions that were imported before schedules existed
		return &PresetPrebuilds{Instances: p.DesiredPrebuildInstances}
	}
	return p.Prebuilds
}

// hourSet is the set of hours that a schedule matches: bits for hours, days of the
// month, months and days of the week, with Sunday as 0.
type hourSet struct {
	hours, days, months, weekdays uint64
	// anyDay and anyWeekday are true if the field is a star. As in cron, a day
	// matches if either of two restricted fields matches.
	anyDay, anyWeekday bool
}

// parseHours parses the five fields of a cron expression. The minute must be a
// star, because schedules cover whole hours.
func parseHours(cron string) (h hourSet, err error) {
	f := strings.Fields(cron)
	switch {
	case len(cron) > 255 || len(f) != 5:
		return h, Errorf(CodeInvalid, "the schedule %.80q is invalid; use the five fields of a cron expression, such as %q", cron, "* 8-18 * * 1-5")
	case f[0] != "*":
		return h, Errorf(CodeInvalid, "the schedule %q sets minutes; the first field must be *, because schedules cover whole hours", cron)
	}
	fields := []struct {
		into     *uint64
		what     string
		from, to int
		names    string
	}{
		{&h.hours, "hour", 0, 23, ""},
		{&h.days, "day of the month", 1, 31, ""},
		{&h.months, "month", 1, 12, "jan feb mar apr may jun jul aug sep oct nov dec"},
		{&h.weekdays, "day of the week", 0, 7, "sun mon tue wed thu fri sat"},
	}
	for i, x := range fields {
		if *x.into, err = parseField(f[i+1], x.from, x.to, strings.Fields(x.names)); err != nil {
			return h, Errorf(CodeInvalid, "the schedule %q has an invalid %s: %s", cron, x.what, err)
		}
	}
	if h.weekdays&(1<<7) != 0 { // 7 is also Sunday
		h.weekdays = h.weekdays&^(1<<7) | 1
	}
	h.anyDay, h.anyWeekday = strings.HasPrefix(f[2], "*"), strings.HasPrefix(f[4], "*")
	return h, nil
}

// parseField parses a list of numbers, names and ranges with steps into bits.
func parseField(text string, from, to int, names []string) (bits uint64, err error) {
	number := func(s string) (int, error) {
		if i := slices.Index(names, strings.ToLower(s)); i >= 0 {
			return i + from, nil
		}
		n, err := strconv.Atoi(s)
		if err != nil || n < from || n > to {
			return 0, fmt.Errorf("%.20q is not between %d and %d", s, from, to)
		}
		return n, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		span, by, stepped := strings.Cut(part, "/")
		step := 1
		if stepped {
			if step, err = strconv.Atoi(by); err != nil || step < 1 {
				return 0, fmt.Errorf("%.20q is not a step", by)
			}
		}
		low, high := from, to
		if span != "*" {
			first, last, ranged := strings.Cut(span, "-")
			if low, err = number(first); err != nil {
				return 0, err
			}
			switch {
			case ranged:
				if high, err = number(last); err != nil {
					return 0, err
				}
			case !stepped:
				high = low
			}
		}
		if low > high {
			return 0, fmt.Errorf("%.20q starts after its end", span)
		}
		for n := low; n <= high; n += step {
			bits |= 1 << n
		}
	}
	return bits, nil
}

func (h hourSet) day(month, day, weekday int) bool {
	if h.months&(1<<month) == 0 {
		return false
	}
	onDay, onWeekday := h.days&(1<<day) != 0, h.weekdays&(1<<weekday) != 0
	if h.anyDay || h.anyWeekday {
		return onDay && onWeekday
	}
	return onDay || onWeekday
}

func (h hourSet) has(t time.Time) bool {
	return h.hours&(1<<t.Hour()) != 0 && h.day(int(t.Month()), t.Day(), int(t.Weekday()))
}

// overlaps reports whether both schedules match some hour of some year. Over the
// years every date falls on every day of the week.
func (h hourSet) overlaps(o hourSet) bool {
	if h.hours&o.hours == 0 {
		return false
	}
	for month := 1; month <= 12; month++ {
		last := time.Date(2024, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
		for day := 1; day <= last; day++ {
			for weekday := range 7 {
				if h.day(month, day, weekday) && o.day(month, day, weekday) {
					return true
				}
			}
		}
	}
	return false
}
