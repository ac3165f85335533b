package servertest_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/servertest"
)

// ask sends a request of a person and decodes the answer into out, if any.
func ask(t *testing.T, s *servertest.Server, token, method, path, body string, out any) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.AccessURL().String()+"/api/v2"+path, strings.NewReader(body))
	must(t, err)
	req.Header.Set(codersdk.SessionTokenHeader, token)
	resp, err := http.DefaultClient.Do(req)
	must(t, err)
	defer resp.Body.Close()
	if out != nil {
		if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
			t.Errorf("%s %s: %d, %v", method, path, resp.StatusCode, err)
		}
	}
	return resp.StatusCode
}

// TestHealth: a server that runs is healthy in every section; what is dismissed
// counts no more; a report holds until a new one is asked for.
func TestHealth(t *testing.T) {
	s := servertest.Start(t, func(c *server.Config) { c.Network.STUNServers = []string{"disable"} })
	owner := s.Client.SessionToken
	var r codersdk.HealthcheckReport
	if status := ask(t, s, owner, "GET", "/debug/health", "", &r); status != 200 {
		t.Fatalf("status %d", status)
	}
	if !r.AccessURL.Healthy || r.AccessURL.HealthzResponse != "OK" || !r.Database.Healthy || r.Database.ThresholdMS != 15 ||
		!r.Websocket.Healthy || r.Websocket.Code != 101 || !r.DERP.Healthy || len(r.DERP.Regions["999"].NodeReports) != 1 || len(r.ProvisionerDaemons.Items) != 1 {
		t.Errorf("a running server: %+v", r)
	}
	if !r.Healthy || r.DERP.Netcheck.UDP != true {
		t.Errorf("healthy %t, UDP %t, %v", r.Healthy, r.DERP.Netcheck.UDP, r.DERP.NetcheckLogs)
	}
	var again, forced codersdk.HealthcheckReport
	ask(t, s, owner, "GET", "/debug/health", "", &again)
	ask(t, s, owner, "GET", "/debug/health?force=true", "", &forced)
	if !again.Time.Equal(r.Time) || !forced.Time.After(r.Time) {
		t.Errorf("reports of %v, %v and, new, %v", r.Time, again.Time, forced.Time)
	}
	member, _ := s.Member(t, "mel")
	if status := ask(t, s, member.SessionToken, "GET", "/debug/health", "", nil); status != 403 {
		t.Errorf("a member: %d", status)
	}
	if status := ask(t, s, owner, "PUT", "/debug/health/settings", `{"dismissed_healthchecks": ["Nonsense"]}`, nil); status != 400 {
		t.Errorf("an unknown section: %d", status)
	}
	var set codersdk.HealthSettings
	ask(t, s, owner, "PUT", "/debug/health/settings", `{"dismissed_healthchecks": ["DERP", "Database", "DERP"]}`, nil)
	ask(t, s, owner, "GET", "/debug/health/settings", "", &set)
	if !slices.Equal(set.DismissedHealthchecks, []codersdk.HealthSection{"DERP", "Database"}) {
		t.Errorf("dismissed: %v", set.DismissedHealthchecks)
	}
	ask(t, s, owner, "GET", "/debug/health", "", &again)
	if !again.DERP.Dismissed || !again.Database.Dismissed || again.AccessURL.Dismissed {
		t.Errorf("dismissed: %t %t %t", again.DERP.Dismissed, again.Database.Dismissed, again.AccessURL.Dismissed)
	}
}

// TestHealthTellsWhatIsBroken: no provisioner, and a database that answers more
// slowly than it may.
func TestHealthTellsWhatIsBroken(t *testing.T) {
	s := servertest.Start(t, func(c *server.Config) {
		c.Provisioning.Daemons, c.Network.STUNServers = 0, []string{"disable"}
		c.Observability.HealthThreshold = time.Nanosecond
		c.Database.EncryptionKeys = []string{"none"} // chosen, so no warning
	})
	var r codersdk.HealthcheckReport
	ask(t, s, s.Client.SessionToken, "GET", "/debug/health", "", &r)
	if r.Healthy || r.Severity != codersdk.HealthSeverityError || !strings.HasPrefix(r.ProvisionerDaemons.Error, "EPD01") {
		t.Errorf("without a provisioner: %+v", r.ProvisionerDaemons)
	}
	if r.Database.Severity != codersdk.HealthSeverityWarning || len(r.Database.Warnings) != 1 || r.Database.Warnings[0].Code != codersdk.HealthCodeDatabaseSlow {
		t.Errorf("a slow database: %+v", r.Database)
	}
}

// TestAppearance: users who may configure the site change its appearance, and
// every visitor sees it. Values that are no picture or color are refused.
func TestAppearance(t *testing.T) {
	s := servertest.Start(t, func(c *server.Config) {
		c.Observability.DocsURL = &url.URL{Scheme: "https", Host: "docs.example.com"}
		c.Observability.SupportLinks = []codersdk.LinkConfig{{Name: "Help", Target: "https://help.example.com"}}
	})
	owner := s.Client.SessionToken
	member, _ := s.Member(t, "mel")
	good := `{"application_name": "Lab <b>", "logo_url": "https://example.com/l.svg", "announcement_banners": [{"enabled": true, "message": "**Hello** <script>", "background_color": "#AABBCC"}]}`
	for _, c := range []struct {
		token, body string
		status      int
	}{
		{member.SessionToken, good, 403},
		{owner, `{"logo_url": "javascript:alert(1)"}`, 400},
		{owner, `{"logo_url": "//evil.example.com/x.svg"}`, 400},
		{owner, `{"application_name": "` + strings.Repeat("x", 65) + `"}`, 400},
		{owner, `{"application_name": "a\nb"}`, 400},
		{owner, `{"announcement_banners": [{"background_color": "red;position:fixed"}]}`, 400},
		{owner, `{"announcement_banners": [{"message": "` + strings.Repeat("x", 3001) + `"}]}`, 400},
		{owner, `{"announcement_banners": [` + strings.TrimSuffix(strings.Repeat(`{"enabled":true},`, 11), ",") + `]}`, 400},
		{owner, good, 200},
	} {
		if got := ask(t, s, c.token, "PUT", "/appearance", c.body, nil); got != c.status {
			t.Errorf("%.80s: %d, want %d", c.body, got, c.status)
		}
	}
	var a codersdk.AppearanceConfig
	ask(t, s, "", "GET", "/appearance", "", &a)
	if a.ApplicationName != "Lab <b>" || len(a.AnnouncementBanners) != 1 || a.ServiceBanner.Message != "**Hello** <script>" ||
		a.DocsURL != "https://docs.example.com" || len(a.SupportLinks) != 1 {
		t.Errorf("what everybody sees: %+v", a)
	}
	logs, err := s.Client.AuditLogs(t.Context(), url.Values{"q": {"resource_type:appearance"}})
	if err != nil || len(logs.AuditLogs) != 1 || len(logs.AuditLogs[0].Diff) != 3 {
		t.Errorf("audited: %+v, %v", logs, err)
	}
}

// TestSite: what the site as a whole tells to whom.
func TestSite(t *testing.T) {
	s := servertest.Start(t, func(c *server.Config) {
		c.Observability.UpgradeMessage = "Get it from the intranet"
		c.Observability.Settings = codersdk.DeploymentConfig{Config: map[string]any{"x": 1}, Options: []codersdk.DeploymentOption{{Flag: "x"}}}
	})
	member, _ := s.Member(t, "mel")
	auditor, _ := s.Member(t, "olga", "auditor")
	for path, want := range map[string][3]int{ // owner, auditor, member
		"/deployment/config":                       {200, 200, 403},
		"/deployment/stats":                        {200, 200, 403},
		"/replicas":                                {200, 403, 403},
		"/debug/coordinator":                       {200, 403, 403},
		"/debug/tailnet":                           {200, 403, 403},
		"/insights/daus":                           {200, 200, 403},
		"/insights/user-status-counts":             {200, 200, 403},
		"/insights/user-activity":                  {400, 400, 400},
		"/insights/user-latency?start_time=x":      {400, 400, 400},
		"/insights/daus?tz_offset=x":               {400, 400, 400},
		"/insights/templates?template_ids=a":       {400, 400, 400},
		"/templates/" + uuid.NewString() + "/daus": {404, 404, 404},
		"/users/me/autofill-parameters":            {400, 400, 400},
	} {
		for i, token := range []string{s.Client.SessionToken, auditor.SessionToken, member.SessionToken} {
			var r codersdk.Response
			var out any
			if want[i] >= 400 {
				out = &r
			}
			if got := ask(t, s, token, "GET", path, "", out); got != want[i] || want[i] >= 400 && r.Message == "" {
				t.Errorf("%s: caller %d gets %d %q, want %d", path, i, got, r.Message, want[i])
			}
		}
	}
	if info, err := member.BuildInfo(t.Context()); err != nil || info.UpgradeMessage != "Get it from the intranet" {
		t.Errorf("what old programs are told: %q, %v", info.UpgradeMessage, err)
	}
	var replicas []codersdk.Replica
	ask(t, s, s.Client.SessionToken, "GET", "/replicas", "", &replicas)
	if len(replicas) != 1 || replicas[0].DatabaseLatency <= 0 || replicas[0].Hostname == "" {
		t.Errorf("replicas: %+v", replicas)
	}
	if got := ask(t, s, "", "POST", "/csp/reports", `{"csp-report": {"blocked-uri": "https://x"}}`, nil); got != 200 {
		t.Errorf("a report of a browser: %d", got)
	}
	if got := ask(t, s, "", "POST", "/csp/reports", `{"csp-report": "`+strings.Repeat("x", 20<<10)+`"}`, nil); got != 413 {
		t.Errorf("a report without end: %d", got)
	}
}

// TestFormOfParameters: the form comes unasked, answers each request with
// what was filled in and what is wrong with it, and survives nonsense.
func TestFormOfParameters(t *testing.T) {
	w := newWalk(t)
	w.build()
	s := w.s
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, s.AccessURL().String()+w.fill("/api/v2/templateversions/{templateversion}/dynamic-parameters"),
		&websocket.DialOptions{HTTPHeader: http.Header{codersdk.SessionTokenHeader: {s.Client.SessionToken}}})
	must(t, err)
	defer conn.CloseNow() //nolint:errcheck // the test's own
	next := func() (form codersdk.DynamicParametersResponse) {
		t.Helper()
		_, b, err := conn.Read(ctx)
		must(t, err)
		var v any
		must(t, json.Unmarshal(b, &v))
		for _, d := range w.c.Conforms("DynamicParametersResponse", v, "form") {
			t.Error(d)
		}
		must(t, json.Unmarshal(b, &form))
		return form
	}
	send := func(text string) codersdk.DynamicParametersResponse {
		t.Helper()
		must(t, conn.Write(ctx, websocket.MessageText, []byte(text)))
		return next()
	}
	first := next()
	if first.ID != -1 || len(first.Parameters) != 1 || first.Parameters[0].Value.Value != "2" || first.Parameters[0].FormType != codersdk.ParameterFormTypeRadio || len(first.Parameters[0].Options) != 2 {
		t.Errorf("the first form: %+v", first)
	}
	if f := send(`{"id": 1, "inputs": {"size": "4"}}`); f.ID != 1 || f.Parameters[0].Value.Value != "4" || len(f.Parameters[0].Diagnostics) != 0 {
		t.Errorf("a good value: %+v", f)
	}
	if f := send(`{"id": 2, "inputs": {"size": "99", "color": "red"}}`); f.ID != 2 || len(f.Parameters[0].Diagnostics) != 1 || len(f.Diagnostics) != 1 {
		t.Errorf("a bad value and an unknown parameter: %+v", f)
	}
	must(t, conn.Write(ctx, websocket.MessageText, []byte(`nonsense`)))
	if _, _, err := conn.Read(ctx); websocket.CloseStatus(err) != websocket.StatusPolicyViolation {
		t.Errorf("nonsense: %v", err)
	}
	member, _ := s.Member(t, "mel")
	if got := ask(t, s, member.SessionToken, "POST", "/templateversions/"+uuid.NewString()+"/dynamic-parameters/evaluate", `{}`, nil); got != 404 {
		t.Errorf("a version that is not there: %d", got)
	}
	var last []codersdk.UserParameter
	ask(t, s, s.Client.SessionToken, "GET", w.fill("/users/me/autofill-parameters?template_id={template}"), "", &last)
	if !slices.Equal(last, []codersdk.UserParameter{{Name: "size", Value: "2"}}) {
		t.Errorf("used last: %+v", last)
	}
	if got := ask(t, s, member.SessionToken, "GET", w.fill("/users/{me}/autofill-parameters?template_id={template}"), "", nil); got != 404 {
		t.Errorf("what others used last: %d", got)
	}
}
