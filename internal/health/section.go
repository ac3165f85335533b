package health

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-2a7f8fe7/coder"
)

func fine() coder.HealthBase {
	return coder.HealthBase{Severity: coder.HealthSeverityOK, Warnings: []coder.HealthMessage{}}
}

// fail says in a section what is broken.
func fail(b *coder.HealthBase, code coder.HealthCode, format string, args ...any) {
	b.Severity = coder.HealthSeverityError
	b.Error = string(code) + ": " + fmt.Sprintf(format, args...)
}

// warn says in a section what may be better.
func warn(b *coder.HealthBase, code coder.HealthCode, format string, args ...any) {
	b.Severity = worse(b.Severity, coder.HealthSeverityWarning)
	b.Warnings = append(b.Warnings, coder.HealthMessage{Code: code, Message: fmt.Sprintf(format, args...)})
}

// accessURL looks whether this server, asked by the name that everybody uses,
// answers.
func (s *Service) accessURL(ctx context.Context) coder.AccessURLReport {
	r := coder.AccessURLReport{HealthBase: fine()}
	u := s.c.AccessURL
	if u == nil || u.String() == "" {
		fail(&r.HealthBase, coder.HealthCodeAccessURLNotSet, "no access URL is set: give --access-url")
		return r
	}
	r.AccessURL = u.String()
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		fail(&r.HealthBase, coder.HealthCodeAccessURLInvalid, "the access URL %q is not like https://coder.example.com", u)
		return r
	}
	a, err := s.c.Fetch(ctx, u.JoinPath("healthz").String())
	if err != nil {
		fail(&r.HealthBase, coder.HealthCodeAccessURLFetch, "the server does not reach itself at its access URL, and so workspaces may not either: %s", err)
		return r
	}
	r.Reachable, r.StatusCode, r.HealthzResponse = true, a.Status, a.Body
	if a.Status != 200 {
		warn(&r.HealthBase, coder.HealthCodeAccessURLNotOK, "%s/healthz answers %d instead of 200: something else may be at the access URL", u, a.Status)
	}
	r.Healthy = r.Severity != coder.HealthSeverityError
	return r
}

// pings is how often the database is asked.
const pings = 5

func (s *Service) database(ctx context.Context) coder.DatabaseReport {
	r := coder.DatabaseReport{HealthBase: fine(), ThresholdMS: s.c.Threshold.Milliseconds()}
	var took []time.Duration
	for range pings {
		d, err := s.c.Store.Ping(ctx)
		if err != nil {
			fail(&r.HealthBase, coder.HealthCodeDatabasePing, "the database does not answer: %s", err)
			return r
		}
		took = append(took, d)
	}
	slices.Sort(took)
	median := took[len(took)/2]
	r.Reachable, r.Healthy, r.Latency, r.LatencyMS = true, true, median.String(), median.Milliseconds()
	if median >= s.c.Threshold {
		warn(&r.HealthBase, coder.HealthCodeDatabaseSlow, "the database takes %s to answer (median of %d), more than %s: put it closer to the server, or look what keeps it busy",
			median.Round(time.Microsecond), pings, s.c.Threshold)
	}
	return r
}

// echoPath is where the API sends back what it gets by WebSocket.
const echoPath = "api/v2/debug/ws"

func (s *Service) webSocket(ctx context.Context) coder.WebsocketReport {
	r := coder.WebsocketReport{HealthBase: fine()}
	if s.c.AccessURL == nil {
		fail(&r.HealthBase, coder.HealthCodeWebSocketDial, "no access URL is set: give --access-url")
		return r
	}
	const text = "is anybody there?"
	a, err := s.c.Echo(ctx, s.c.AccessURL.JoinPath(echoPath).String(), text)
	r.Code, r.Body = a.Status, a.Body
	switch {
	case err != nil && a.Status == 101:
		fail(&r.HealthBase, coder.HealthCodeWebSocketEcho, "a WebSocket at the access URL ends before anything comes back: %s. Look at the proxies on the way", err)
	case err != nil:
		fail(&r.HealthBase, coder.HealthCodeWebSocketDial,
			"no WebSocket comes through at the access URL, and so no workspace and no live page: %s. Look whether the proxies on the way pass the header Upgrade", err)
	case a.Body != text:
		fail(&r.HealthBase, coder.HealthCodeWebSocketMessage, "what comes back by WebSocket is not what was sent")
	default:
		r.Healthy = true
	}
	return r
}

func (s *Service) provisioners(ctx context.Context) coder.ProvisionerDaemonsReport {
	r := coder.ProvisionerDaemonsReport{HealthBase: fine(), Items: []coder.ProvisionerDaemonsReportItem{}}
	organizations, err := s.c.Store.HealthOrganizations(ctx)
	if err != nil {
		fail(&r.HealthBase, coder.HealthCodeUnknown, "the organizations cannot be listed: %s", err)
		return r
	}
	for _, o := range organizations {
		daemons, err := s.c.Provisioners(ctx, o.ID)
		if err != nil {
			fail(&r.HealthBase, coder.HealthCodeUnknown, "the provisioners of %q cannot be listed: %s", o.Name, err)
			return r
		}
		live := 0
		for _, d := range daemons {
			if d.Status == coder.ProvisionerDaemonStatusOffline {
				continue
			}
			live++
			item := coder.ProvisionerDaemonsReportItem{ProvisionerDaemon: d, Warnings: coder.ProvisionerWarnings(d, s.c.Version)}
			if item.Warnings == nil {
				item.Warnings = []coder.HealthMessage{}
			}
			if len(item.Warnings) > 0 {
				r.Severity = worse(r.Severity, coder.HealthSeverityWarning)
			}
			r.Items = append(r.Items, item)
		}
		if live == 0 && len(organizations) > 1 {
			warn(&r.HealthBase, coder.HealthCodeNoProvisioners, "no provisioner of the organization %q is connected: its builds and imports wait until one is", o.Name)
		}
	}
	if len(r.Items) == 0 {
		m := coder.NoProvisioners()
		fail(&r.HealthBase, m.Code, "%s", m.Message)
		r.Warnings = []coder.HealthMessage{m}
	}
	return r
}

// proxies says how the workspace proxies do. One that was never started is
// nobody's trouble.
func (s *Service) proxies(ctx context.Context) coder.WorkspaceProxyReport {
	r := coder.WorkspaceProxyReport{HealthBase: fine(), Healthy: true, WorkspaceProxies: coder.WorkspaceProxiesRegions{Regions: []coder.WorkspaceProxy{}}}
	if s.c.Proxies == nil {
		return r
	}
	all, err := s.c.Proxies(ctx)
	if err != nil {
		fail(&r.HealthBase, coder.HealthCodeProxyFetch, "the workspace proxies cannot be listed: %s", err)
		r.Healthy = false
		return r
	}
	r.WorkspaceProxies.Regions = all
	broken, registered := 0, 0
	for _, p := range all {
		if p.Name == coder.PrimaryProxy || p.Status.Status == coder.ProxyStatusUnregistered {
			continue
		}
		registered++
		for _, text := range p.Status.Report.Warnings {
			warn(&r.HealthBase, coder.HealthCodeProxyUnhealthy, "%s: %s", p.Name, text)
		}
		if !p.Healthy {
			broken++
			warn(&r.HealthBase, coder.HealthCodeProxyUnhealthy, "the workspace proxy %q is %s: %s", p.Name, p.Status.Status, strings.Join(p.Status.Report.Errors, "; "))
		}
	}
	if broken > 0 && broken == registered {
		fail(&r.HealthBase, coder.HealthCodeProxyUnhealthy, "none of the workspace proxies is healthy")
		r.Healthy = false
	}
	return r
}
