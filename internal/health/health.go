// Package health finds out how a deployment does: whether it reaches itself at
// its access URL by HTTP and by WebSocket, how fast its database answers,
// whether its servers reach one another and anybody tells them their public
// addresses, and which provisioners are connected. Each section says what is
// wrong with a code and what to do about it. A report holds for some minutes;
// whoever wants a new one asks for it. Sections can be dismissed: they are
// looked at all the same, and count no more in the sum. (HC-01, PRV-28)
package health

import (
	"context"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/deployment"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Answer is what came back from a server that was asked.
type Answer struct {
	Status int
	Body   string // its beginning
}

// Config is what a Service needs.
type Config struct {
	Store     *postgres.Store
	AccessURL *url.URL
	Version   string
	ReplicaID uuid.UUID
	// Refresh is how long a report holds; 0 means 10 minutes.
	Refresh time.Duration
	// Threshold is what the database may take to answer; 0 means 15 ms.
	Threshold time.Duration
	// Fetch gets a page by HTTP; an error says that there was no answer.
	Fetch func(ctx context.Context, url string) (Answer, error)
	// Echo sends a text by WebSocket and gives what came back.
	Echo func(ctx context.Context, url, text string) (Answer, error)
	// Provisioners gives those of an organization that are connected.
	Provisioners func(ctx context.Context, organization uuid.UUID) ([]coder.ProvisionerDaemon, error)
	// Proxies gives the workspace proxies; nil: there are none.
	Proxies func(ctx context.Context) ([]coder.WorkspaceProxy, error)
	// STUN are servers that tell public addresses, host:port each; nil: direct
	// connections are turned off.
	STUN []string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Service makes reports. It is safe for concurrent use; one report is made at
// a time, and whoever asks meanwhile waits for it.
type Service struct {
	c    Config
	mu   sync.Mutex
	last *coder.HealthcheckReport
}

// New gives a service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Refresh <= 0 {
		c.Refresh = 10 * time.Minute
	}
	if c.Threshold <= 0 {
		c.Threshold = 15 * time.Millisecond
	}
	return &Service{c: c}
}

// limit is how long a report may take to make.
const limit = 20 * time.Second

const settingsName = "health"

// Report gives how the deployment does: the last report while it holds, or a
// new one when force says so.
func (s *Service) Report(ctx context.Context, actor access.Subject, force bool) (coder.HealthcheckReport, error) {
	if err := deployment.Check(actor, coder.RBACActionRead, coder.RBACResourceDebugInfo); err != nil {
		return coder.HealthcheckReport{}, err
	}
	asked := s.c.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil || s.c.Now().Sub(s.last.Time) >= s.c.Refresh || force && s.last.Time.Before(asked) {
		// Whoever goes away meanwhile leaves a report for the next one.
		work, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
		defer cancel()
		r := s.look(work)
		s.last = &r
	}
	set, err := s.settings(ctx, s.c.Store.Queries)
	if err != nil {
		return coder.HealthcheckReport{}, err
	}
	return dismiss(*s.last, set.DismissedHealthchecks), nil
}

// look makes a report, all sections at once.
func (s *Service) look(ctx context.Context) coder.HealthcheckReport {
	r := coder.HealthcheckReport{CoderVersion: s.c.Version}
	var all sync.WaitGroup
	for _, section := range []func(){
		func() { r.AccessURL = s.accessURL(ctx) },
		func() { r.Database = s.database(ctx) },
		func() { r.Websocket = s.webSocket(ctx) },
		func() { r.DERP = s.relay(ctx) },
		func() { r.ProvisionerDaemons = s.provisioners(ctx) },
		func() { r.WorkspaceProxy = s.proxies(ctx) },
	} {
		all.Go(section)
	}
	all.Wait()
	r.Time = s.c.Now()
	return r
}

// dismiss marks sections as dismissed and sums up the others.
func dismiss(r coder.HealthcheckReport, sections []coder.HealthSection) coder.HealthcheckReport {
	r.Healthy, r.Severity = true, coder.HealthSeverityOK
	for section, base := range map[coder.HealthSection]*coder.HealthBase{
		coder.HealthSectionAccessURL: &r.AccessURL.HealthBase, coder.HealthSectionDatabase: &r.Database.HealthBase,
		coder.HealthSectionDERP: &r.DERP.HealthBase, coder.HealthSectionProvisionerDaemons: &r.ProvisionerDaemons.HealthBase,
		coder.HealthSectionWebsocket: &r.Websocket.HealthBase, coder.HealthSectionWorkspaceProxy: &r.WorkspaceProxy.HealthBase,
	} {
		if base.Dismissed = slices.Contains(sections, section); !base.Dismissed {
			r.Severity = worse(r.Severity, base.Severity)
		}
	}
	r.Healthy = r.Severity != coder.HealthSeverityError
	return r
}

// worse gives the worse of two severities.
func worse(a, b coder.HealthSeverity) coder.HealthSeverity {
	order := []coder.HealthSeverity{coder.HealthSeverityOK, coder.HealthSeverityWarning, coder.HealthSeverityError}
	return order[max(slices.Index(order, a), slices.Index(order, b), 0)]
}

// Settings gives the sections that are dismissed.
func (s *Service) Settings(ctx context.Context, actor access.Subject) (coder.HealthSettings, error) {
	if err := deployment.Check(actor, coder.RBACActionRead, coder.RBACResourceDebugInfo); err != nil {
		return coder.HealthSettings{}, err
	}
	return s.settings(ctx, s.c.Store.Queries)
}

func (s *Service) settings(ctx context.Context, q *sqlc.Queries) (coder.HealthSettings, error) {
	out := coder.HealthSettings{DismissedHealthchecks: []coder.HealthSection{}}
	return out, deployment.Get(ctx, q, settingsName, &out)
}

// SetSettings says which sections are dismissed from now on.
func (s *Service) SetSettings(ctx context.Context, actor access.Subject, in coder.HealthSettings) (coder.HealthSettings, error) {
	if err := deployment.Check(actor, coder.RBACActionUpdate, coder.RBACResourceDeploymentConfig); err != nil {
		return in, err
	}
	for _, section := range in.DismissedHealthchecks {
		if !slices.Contains(coder.HealthSections(), section) {
			return in, coder.Invalid("dismissed_healthchecks", "%q is no section; there are %v", section, coder.HealthSections())
		}
	}
	in.DismissedHealthchecks = append([]coder.HealthSection{}, in.DismissedHealthchecks...)
	slices.Sort(in.DismissedHealthchecks)
	in.DismissedHealthchecks = slices.Compact(in.DismissedHealthchecks)
	err := s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		old := coder.HealthSettings{DismissedHealthchecks: []coder.HealthSection{}}
		if err := deployment.GetForUpdate(ctx, q, settingsName, &old); err != nil {
			return err
		}
		if slices.Equal(old.DismissedHealthchecks, in.DismissedHealthchecks) {
			return nil
		}
		if err := deployment.Put(ctx, q, settingsName, in, s.c.Now()); err != nil {
			return err
		}
		return audit.Record(ctx, q, actor, audit.Entry{
			Action: coder.AuditActionWrite, ResourceType: coder.ResourceTypeHealthSettings, Target: "health settings",
			Diff: coder.AuditDiff{"dismissed_healthchecks": {Old: old.DismissedHealthchecks, New: in.DismissedHealthchecks}},
		})
	})
	return in, err
}
