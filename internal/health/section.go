package health

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/rule/provisionerhealth"
)

func fine() codersdk.HealthBase {
	return codersdk.HealthBase{Severity: codersdk.HealthSeverityOK, Warnings: []codersdk.HealthMessage{}}
}

// fail adds an error to a section.
func fail(b *codersdk.HealthBase, code codersdk.HealthCode, format string, args ...any) {
	b.Severity = codersdk.HealthSeverityError
	b.Error = string(code) + ": " + fmt.Sprintf(format, args...)
}

// warn adds a warning to a section.
func warn(b *codersdk.HealthBase, code codersdk.HealthCode, format string, args ...any) {
	b.Severity = worse(b.Severity, codersdk.HealthSeverityWarning)
	b.Warnings = append(b.Warnings, codersdk.HealthMessage{Code: code, Message: fmt.Sprintf(format, args...)})
}

// accessURL checks whether this server responds at the access URL.
func (s *Service) accessURL(ctx context.Context) codersdk.AccessURLReport {
	r := codersdk.AccessURLReport{HealthBase: fine()}
	u := s.c.AccessURL
	if u == nil || u.String() == "" {
		fail(&r.HealthBase, codersdk.HealthCodeAccessURLNotSet, "no access URL is set; set --access-url")
		return r
	}
	r.AccessURL = u.String()
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		fail(&r.HealthBase, codersdk.HealthCodeAccessURLInvalid, "the access URL %q is not valid; use a URL such as https://coder.example.com", u)
		return r
	}
	a, err := s.c.Fetch(ctx, u.JoinPath("healthz").String())
	if err != nil {
		fail(&r.HealthBase, codersdk.HealthCodeAccessURLFetch, "the server cannot reach itself at its access URL, so workspaces may not reach it either: %s", err)
		return r
	}
	r.Reachable, r.StatusCode, r.HealthzResponse = true, a.Status, a.Body
	if a.Status != 200 {
		warn(
			&r.HealthBase,
			codersdk.HealthCodeAccessURLNotOK,
			"%s/healthz responds with status %d instead of 200; check that the access URL leads to this server",
			u,
			a.Status,
		)
	}
	r.Healthy = r.Severity != codersdk.HealthSeverityError
	return r
}

// pings is the number of round trips of a measurement.
const pings = 5

func (s *Service) database(ctx context.Context) codersdk.DatabaseReport {
	r := codersdk.DatabaseReport{HealthBase: fine(), ThresholdMS: s.c.Threshold.Milliseconds()}
	var took []time.Duration
	for range pings {
		d, err := s.c.Store.Ping(ctx)
		if err != nil {
			fail(&r.HealthBase, codersdk.HealthCodeDatabasePing, "the database does not respond: %s", err)
			return r
		}
		took = append(took, d)
	}
	if s.c.Unencrypted {
		warn(&r.HealthBase, codersdk.HealthCodeDatabaseClear,
			"secrets in the database are not encrypted; set --external-token-encryption-keys to a key of 'openssl rand -base64 32', or to none to accept this")
	}
	slices.Sort(took)
	median := took[len(took)/2]
	r.Reachable, r.Healthy, r.Latency, r.LatencyMS = true, true, median.String(), median.Milliseconds()
	if median >= s.c.Threshold {
		warn(
			&r.HealthBase,
			codersdk.HealthCodeDatabaseSlow,
			"the database latency is %s (median of %d), more than %s; move the database closer to the server, or check its load",
			median.Round(time.Microsecond),
			pings,
			s.c.Threshold,
		)
	}
	return r
}

// echoPath is the API path that echoes WebSocket messages.
const echoPath = "api/v2/debug/ws"

func (s *Service) webSocket(ctx context.Context) codersdk.WebsocketReport {
	r := codersdk.WebsocketReport{HealthBase: fine()}
	if s.c.AccessURL == nil {
		fail(&r.HealthBase, codersdk.HealthCodeWebSocketDial, "no access URL is set; set --access-url")
		return r
	}
	const text = "is anybody there?"
	a, err := s.c.Echo(ctx, s.c.AccessURL.JoinPath(echoPath).String(), text)
	r.Code, r.Body = a.Status, a.Body
	switch {
	case err != nil && a.Status == 101:
		fail(
			&r.HealthBase,
			codersdk.HealthCodeWebSocketEcho,
			"a WebSocket connection to the access URL closes without a reply: %s; check the proxies in between",
			err,
		)
	case err != nil:
		fail(
			&r.HealthBase,
			codersdk.HealthCodeWebSocketDial,
			"WebSocket connections to the access URL fail, so workspaces and live updates do not work: %s; check that the proxies in between pass the Upgrade header",
			err,
		)
	case a.Body != text:
		fail(&r.HealthBase, codersdk.HealthCodeWebSocketMessage, "the WebSocket reply differs from the message sent")
	default:
		r.Healthy = true
	}
	return r
}

func (s *Service) provisioners(ctx context.Context) codersdk.ProvisionerDaemonsReport {
	r := codersdk.ProvisionerDaemonsReport{HealthBase: fine(), Items: []codersdk.ProvisionerDaemonsReportItem{}}
	organizations, err := s.c.Store.HealthOrganizations(ctx)
	if err != nil {
		fail(&r.HealthBase, codersdk.HealthCodeUnknown, "cannot list the organizations: %s", err)
		return r
	}
	for _, o := range organizations {
		daemons, err := s.c.Provisioners(ctx, o.ID)
		if err != nil {
			fail(&r.HealthBase, codersdk.HealthCodeUnknown, "cannot list the provisioners of %q: %s", o.Name, err)
			return r
		}
		live := 0
		for _, d := range daemons {
			if d.Status == codersdk.ProvisionerDaemonStatusOffline {
				continue
			}
			live++
			item := codersdk.ProvisionerDaemonsReportItem{ProvisionerDaemon: d, Warnings: provisionerhealth.Warnings(d, s.c.Version)}
			if item.Warnings == nil {
				item.Warnings = []codersdk.HealthMessage{}
			}
			if len(item.Warnings) > 0 {
				r.Severity = worse(r.Severity, codersdk.HealthSeverityWarning)
			}
			r.Items = append(r.Items, item)
		}
		if live == 0 && len(organizations) > 1 {
			warn(&r.HealthBase, codersdk.HealthCodeNoProvisioners, "no provisioner of the organization %q is connected, so its builds and imports wait", o.Name)
		}
	}
	if len(r.Items) == 0 {
		m := provisionerhealth.Missing()
		fail(&r.HealthBase, m.Code, "%s", m.Message)
		r.Warnings = []codersdk.HealthMessage{m}
	}
	return r
}

// proxies checks the workspace proxies. Proxies that never ran cause no warning.
func (s *Service) proxies(ctx context.Context) codersdk.WorkspaceProxyReport {
	r := codersdk.WorkspaceProxyReport{HealthBase: fine(), Healthy: true, WorkspaceProxies: codersdk.WorkspaceProxiesRegions{Regions: []codersdk.WorkspaceProxy{}}}
	if s.c.Proxies == nil {
		return r
	}
	all, err := s.c.Proxies(ctx)
	if err != nil {
		fail(&r.HealthBase, codersdk.HealthCodeProxyFetch, "cannot list the workspace proxies: %s", err)
		r.Healthy = false
		return r
	}
	r.WorkspaceProxies.Regions = all
	broken, registered := 0, 0
	for _, p := range all {
		if p.Name == codersdk.PrimaryProxy || p.Status.Status == codersdk.ProxyStatusUnregistered {
			continue
		}
		registered++
		for _, text := range p.Status.Report.Warnings {
			warn(&r.HealthBase, codersdk.HealthCodeProxyUnhealthy, "%s: %s", p.Name, text)
		}
		if !p.Healthy {
			broken++
			warn(
				&r.HealthBase,
				codersdk.HealthCodeProxyUnhealthy,
				"the workspace proxy %q is %s: %s",
				p.Name,
				p.Status.Status,
				strings.Join(p.Status.Report.Errors, "; "),
			)
		}
	}
	if broken > 0 && broken == registered {
		fail(&r.HealthBase, codersdk.HealthCodeProxyUnhealthy, "no workspace proxy is healthy")
		r.Healthy = false
	}
	return r
}
