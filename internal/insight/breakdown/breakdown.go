// Package breakdown reports the usage and the costs of workspaces by day, organization, template and
// user, and which versions of templates, agents and clients are in use. Days are those of the viewer's
// time zone. Usage is recorded by the hour of UTC: where a day starts within such an hour, the hour
// counts to the day before. Periods, lists and the number of concurrent reports are limited.
package breakdown

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
)

// Limits of reports.
const (
	maxDays = 92
	// maxGroups bounds the groups that the database returns, and most those of a
	// response by each of time and costs.
	maxGroups, most = 100_000, 100
	// together is the number of reports that a server creates at a time.
	together = 2
	// limit is the timeout of a report.
	limit = 30 * time.Second
	// clientPeriod is the period in which clients count.
	clientPeriod = 7 * 24 * time.Hour
	// heardWithin is the age of the last heartbeat of agents that count as connected.
	heardWithin = 15 * time.Minute
)

// Config configures a Service.
type Config struct {
	Store *postgres.Store
	Now   func() time.Time
}

// Service creates reports. It is safe for concurrent use.
type Service struct {
	c     Config
	slots chan struct{}
}

// New returns a Service.
func New(c Config) *Service { return &Service{c: c, slots: make(chan struct{}, together)} }

// Scope restricts a report; a nil UUID means all.
type Scope struct{ Organization, Template, User uuid.UUID }

// Query is a period of whole days in a time zone.
type Query struct {
	Scope
	StartDate, EndDate string // 2006-01-02; the end is included
	Timezone           string // "" means UTC
}

// period is a Query with times.
type period struct {
	days []time.Time // the start of each day
	ends time.Time   // the end of the last one, or now
	zone string
}

// parse returns the period of a query.
func (s *Service) parse(q Query) (p period, err error) {
	zone, err := time.LoadLocation(q.Timezone)
	if err != nil || q.Timezone == "Local" {
		return p, codersdk.Invalid("timezone", "must be a name such as Europe/Berlin or UTC")
	}
	p.zone = zone.String()
	first, err := time.ParseInLocation(time.DateOnly, q.StartDate, zone)
	if err != nil {
		return p, codersdk.Invalid("start_date", "is required; use a date such as 2026-11-01")
	}
	last, err := time.ParseInLocation(time.DateOnly, q.EndDate, zone)
	if err != nil {
		return p, codersdk.Invalid("end_date", "is required; use a date such as 2026-11-30")
	}
	now := s.c.Now()
	if first.After(now) {
		return p, codersdk.Invalid("start_date", "must not be in the future")
	}
	for day := first; !day.After(last) && !day.After(now); day = startOfDay(day, 1) {
		if len(p.days) == maxDays {
			return p, codersdk.Invalid("end_date", "must be at most %d days after start_date", maxDays-1)
		}
		p.days = append(p.days, day)
	}
	if len(p.days) == 0 {
		return p, codersdk.Invalid("end_date", "must not be before start_date")
	}
	p.ends = startOfDay(p.days[len(p.days)-1], 1)
	if p.ends.After(now) {
		p.ends = now
	}
	return p, nil
}

// startOfDay returns the start of the day that is some days after that of t.
func startOfDay(t time.Time, days int) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day()+days, 0, 0, 0, 0, t.Location())
}

// may returns an error unless the actor can read the insights of the scope.
func (s *Service) may(ctx context.Context, actor access.Subject, scope Scope) error {
	object := access.Object{Type: codersdk.RBACResourceTemplate, OrganizationID: scope.Organization}
	if scope.Template == uuid.Nil {
		if actor.Can(codersdk.RBACActionViewInsights, object) {
			return nil
		}
		return codersdk.Errorf(codersdk.CodeForbidden,
			"You do not have permission to read these insights; set organization or template to one whose insights you can read")
	}
	rows, err := s.c.Store.InsightTemplates(ctx, []uuid.UUID{scope.Template})
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return codersdk.NotFound()
	}
	t := rows[0]
	return actor.Check(codersdk.RBACActionViewInsights, access.Object{
		Type: codersdk.RBACResourceTemplate, ID: t.ID, OrganizationID: t.OrganizationID, UserACL: t.UserACL, GroupACL: t.GroupACL,
	})
}

// reserve waits until this server may create another report, and bounds its time.
func (s *Service) reserve(ctx context.Context) (context.Context, func(), error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	select {
	case s.slots <- struct{}{}:
		return ctx, func() { <-s.slots; cancel() }, nil
	case <-ctx.Done():
		cancel()
		return nil, nil, codersdk.Errorf(codersdk.CodeUnavailable, "The server is creating other reports; try again in a minute").WithCause(ctx.Err())
	}
}
