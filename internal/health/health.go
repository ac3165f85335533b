// Package health checks a deployment: whether the server reaches itself at its access URL by HTTP and
// WebSocket, the latency of the database, whether the servers reach one another and a STUN server
// reports their public addresses, and which provisioners are connected. Each finding has a code and
// says what to do. A report is cached for some minutes unless a caller forces a new one. Dismissed
// sections are checked too, but do not count in the summary. (HC-01, PRV-28)
package health

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/deployment"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Answer is the response of a server to a check.
type Answer struct {
	Status int
	Body   string // the first bytes
}

// Config configures a Service.
type Config struct {
	Store     *postgres.Store
	AccessURL *url.URL
	Version   string
	ReplicaID uuid.UUID
	// Unencrypted warns that secrets in the database are not encrypted.
	Unencrypted bool
	// Refresh is how long a report is cached; 0 means 10 minutes.
	Refresh time.Duration
	// Threshold is the acceptable latency of the database; 0 means 15 ms.
	Threshold time.Duration
	// Fetch sends a GET request; an error means that there was no response.
	Fetch func(ctx context.Context, url string) (Answer, error)
	// Echo sends a text by WebSocket and returns the reply.
	Echo func(ctx context.Context, url, text string) (Answer, error)
	// Provisioners returns the connected provisioners of an organization.
	Provisioners func(ctx context.Context, organization uuid.UUID) ([]codersdk.ProvisionerDaemon, error)
	// ExternalAuth checks the providers of external authentication; nil means none.
	ExternalAuth func(ctx context.Context) []codersdk.ExternalAuthHealth
	// Proxies returns the workspace proxies; nil means none.
	Proxies func(ctx context.Context) ([]codersdk.WorkspaceProxy, error)
	// Notifications describes the queue of notifications; nil means none.
	Notifications QueueStatus
	// STUN are the STUN servers, host:port each; nil: direct connections are disabled.
	STUN []string
	// Relay is the name of the deployment's relay in reports.
	Relay Relay
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Relay names the only region of relays: the deployment's servers. The zero values mean 999, "coder"
// and "Coder Embedded Relay".
type Relay struct {
	ID   int
	Code string
	Name string
}

// Service creates reports. It is safe for concurrent use. One report is created at a time;
// concurrent callers wait for it.
type Service struct {
	c    Config
	mu   sync.Mutex
	last *codersdk.HealthcheckReport

	recorded record   // the newest record of the history
	pending  []record // records that are not in the database yet, at most pendingLimit
}

// New returns a Service.
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
	if c.Relay.ID == 0 {
		c.Relay.ID = 999
	}
	c.Relay.Code, c.Relay.Name = cmp.Or(c.Relay.Code, "coder"), cmp.Or(c.Relay.Name, "Coder Embedded Relay")
	return &Service{c: c}
}

// limit is the timeout of a report.
const limit = 20 * time.Second

const settingsName = "health"

// Report returns the health of the deployment: the cached report, or a new one with force.
func (s *Service) Report(ctx context.Context, actor access.Subject, force bool) (codersdk.HealthcheckReport, error) {
	if err := deployment.Check(actor, codersdk.RBACActionRead, codersdk.RBACResourceDebugInfo); err != nil {
		return codersdk.HealthcheckReport{}, err
	}
	asked := s.c.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil || s.c.Now().Sub(s.last.Time) >= s.c.Refresh || force && s.last.Time.Before(asked) {
		// The report is finished even if the caller leaves, for the next caller.
		s.renew(context.WithoutCancel(ctx))
	}
	set, err := s.settings(ctx, s.c.Store.Queries)
	if err != nil {
		return codersdk.HealthcheckReport{}, err
	}
	return dismiss(*s.last, set.DismissedHealthchecks), nil
}

// renew creates a report and records it in the history. The caller holds mu.
func (s *Service) renew(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	r, took := s.check(ctx)
	s.last = &r
	s.remember(ctx, &r, took)
}

// check creates a report, with all sections in parallel, and returns how long
// each section took.
func (s *Service) check(ctx context.Context) (codersdk.HealthcheckReport, map[codersdk.HealthSection]time.Duration) {
	r := codersdk.HealthcheckReport{CoderVersion: s.c.Version}
	took := map[codersdk.HealthSection]time.Duration{}
	var all sync.WaitGroup
	var mu sync.Mutex
	for section, check := range map[codersdk.HealthSection]func(){
		codersdk.HealthSectionAccessURL:          func() { r.AccessURL = s.accessURL(ctx) },
		codersdk.HealthSectionDatabase:           func() { r.Database = s.database(ctx) },
		codersdk.HealthSectionWebsocket:          func() { r.Websocket = s.webSocket(ctx) },
		codersdk.HealthSectionDERP:               func() { r.DERP = s.relay(ctx) },
		codersdk.HealthSectionExternalAuth:       func() { r.ExternalAuth = s.externalAuth(ctx) },
		codersdk.HealthSectionNotifications:      func() { r.Notifications = s.notifications(ctx) },
		codersdk.HealthSectionProvisionerDaemons: func() { r.ProvisionerDaemons = s.provisioners(ctx) },
		codersdk.HealthSectionWorkspaceProxy:     func() { r.WorkspaceProxy = s.proxies(ctx) },
	} {
		all.Go(func() {
			start := time.Now()
			check()
			mu.Lock()
			defer mu.Unlock()
			took[section] = time.Since(start)
		})
	}
	all.Wait()
	r.Time = s.c.Now()
	return r, took
}

// bases returns the common part of each section.
func bases(r *codersdk.HealthcheckReport) map[codersdk.HealthSection]*codersdk.HealthBase {
	return map[codersdk.HealthSection]*codersdk.HealthBase{
		codersdk.HealthSectionAccessURL: &r.AccessURL.HealthBase, codersdk.HealthSectionDatabase: &r.Database.HealthBase,
		codersdk.HealthSectionDERP: &r.DERP.HealthBase, codersdk.HealthSectionExternalAuth: &r.ExternalAuth.HealthBase,
		codersdk.HealthSectionNotifications: &r.Notifications.HealthBase, codersdk.HealthSectionProvisionerDaemons: &r.ProvisionerDaemons.HealthBase,
		codersdk.HealthSectionWebsocket: &r.Websocket.HealthBase, codersdk.HealthSectionWorkspaceProxy: &r.WorkspaceProxy.HealthBase,
	}
}

// dismiss marks sections as dismissed and summarizes the others.
func dismiss(r codersdk.HealthcheckReport, sections []codersdk.HealthSection) codersdk.HealthcheckReport {
	r.Healthy, r.Severity = true, codersdk.HealthSeverityOK
	for section, base := range bases(&r) {
		if base.Dismissed = slices.Contains(sections, section); !base.Dismissed {
			r.Severity = worse(r.Severity, base.Severity)
		}
	}
	r.Healthy = r.Severity != codersdk.HealthSeverityError
	return r
}

// worse returns the higher of two severities.
func worse(a, b codersdk.HealthSeverity) codersdk.HealthSeverity {
	order := []codersdk.HealthSeverity{codersdk.HealthSeverityOK, codersdk.HealthSeverityWarning, codersdk.HealthSeverityError}
	return order[max(slices.Index(order, a), slices.Index(order, b), 0)]
}

// Settings returns the dismissed sections.
func (s *Service) Settings(ctx context.Context, actor access.Subject) (codersdk.HealthSettings, error) {
	if err := deployment.Check(actor, codersdk.RBACActionRead, codersdk.RBACResourceDebugInfo); err != nil {
		return codersdk.HealthSettings{}, err
	}
	return s.settings(ctx, s.c.Store.Queries)
}

func (s *Service) settings(ctx context.Context, q *sqlc.Queries) (codersdk.HealthSettings, error) {
	out := codersdk.HealthSettings{DismissedHealthchecks: []codersdk.HealthSection{}}
	return out, deployment.Get(ctx, q, settingsName, &out)
}

// SetSettings sets the dismissed sections.
func (s *Service) SetSettings(ctx context.Context, actor access.Subject, in codersdk.HealthSettings) (codersdk.HealthSettings, error) {
	if err := deployment.Check(actor, codersdk.RBACActionUpdate, codersdk.RBACResourceDeploymentConfig); err != nil {
		return in, err
	}
	for _, section := range in.DismissedHealthchecks {
		if !slices.Contains(codersdk.HealthSections(), section) {
			return in, codersdk.Invalid("dismissed_healthchecks", "%q is not a section; use one of %v", section, codersdk.HealthSections())
		}
	}
	in.DismissedHealthchecks = append([]codersdk.HealthSection{}, in.DismissedHealthchecks...)
	slices.Sort(in.DismissedHealthchecks)
	in.DismissedHealthchecks = slices.Compact(in.DismissedHealthchecks)
	err := s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		old := codersdk.HealthSettings{DismissedHealthchecks: []codersdk.HealthSection{}}
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
			Action: codersdk.AuditActionWrite, ResourceType: codersdk.ResourceTypeHealthSettings, Target: "health settings",
			Diff: codersdk.AuditDiff{"dismissed_healthchecks": {Old: old.DismissedHealthchecks, New: in.DismissedHealthchecks}},
		})
	})
	return in, err
}
