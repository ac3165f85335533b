package health_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/health"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
)

var here = uuid.New()

// sound is a deployment of one server in which all is well.
func sound(t *testing.T) health.Config {
	t.Helper()
	store := postgrestest.New(t)
	for _, sql := range []string{
		`INSERT INTO organizations (id, name, is_default, created_at, updated_at) VALUES (gen_random_uuid(), 'main', true, now(), now())`,
		`INSERT INTO replicas (id, hostname, version, started_at, updated_at) VALUES ('` + here.String() + `', 'one', 'v1.2.3', now(), now())`,
	} {
		if _, err := store.Pool().Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	return health.Config{
		Store: store, AccessURL: &url.URL{Scheme: "https", Host: "coder.example.com"}, Version: "v1.2.3", ReplicaID: here, Threshold: time.Minute,
		Fetch: func(context.Context, string) (health.Answer, error) {
			return health.Answer{Status: 200, Body: "OK"}, nil
		},
		Echo: func(_ context.Context, _, text string) (health.Answer, error) {
			return health.Answer{Status: 101, Body: text}, nil
		},
		Provisioners: func(context.Context, uuid.UUID) ([]codersdk.ProvisionerDaemon, error) {
			return []codersdk.ProvisionerDaemon{{Name: "p", Version: "v1.2.0", APIVersion: "1.14", Status: codersdk.ProvisionerDaemonStatusIdle}}, nil
		},
	}
}

func report(t *testing.T, c health.Config) codersdk.HealthcheckReport {
	t.Helper()
	r, err := health.New(c).Report(t.Context(), access.System(), false)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func codes(ms []codersdk.HealthMessage) string {
	var out []string
	for _, m := range ms {
		out = append(out, string(m.Code))
	}
	return strings.Join(out, " ")
}

// TestWhatIsBroken breaks one thing at a time: the section says so with its
// code, and no other does.
func TestWhatIsBroken(t *testing.T) {
	down := errors.New("connection refused")
	for name, c := range map[string]struct {
		edit     func(*health.Config)
		section  func(*codersdk.HealthcheckReport) *codersdk.HealthBase
		severity codersdk.HealthSeverity
		code     string
	}{
		"nothing": {func(*health.Config) {}, nil, "ok", ""},
		"no access URL": {func(c *health.Config) { c.AccessURL = nil },
			func(r *codersdk.HealthcheckReport) *codersdk.HealthBase { return &r.AccessURL.HealthBase }, "error", "EACS01"},
		"an odd access URL": {func(c *health.Config) { c.AccessURL = &url.URL{Scheme: "ftp", Host: "x"} },
			func(r *codersdk.HealthcheckReport) *codersdk.HealthBase { return &r.AccessURL.HealthBase }, "error", "EACS02"},
		"nobody at the access URL": {func(c *health.Config) {
			c.Fetch = func(context.Context, string) (health.Answer, error) { return health.Answer{}, down }
		}, func(r *codersdk.HealthcheckReport) *codersdk.HealthBase { return &r.AccessURL.HealthBase }, "error", "EACS03"},
		"somebody else at the access URL": {func(c *health.Config) {
			c.Fetch = func(context.Context, string) (health.Answer, error) { return health.Answer{Status: 404}, nil }
		}, func(r *codersdk.HealthcheckReport) *codersdk.HealthBase { return &r.AccessURL.HealthBase }, "warning", "EACS04"},
		"a slow database": {func(c *health.Config) { c.Threshold = time.Nanosecond },
			func(r *codersdk.HealthcheckReport) *codersdk.HealthBase { return &r.Database.HealthBase }, "warning", "EDB02"},
		"secrets in clear": {func(c *health.Config) { c.Unencrypted = true },
			func(r *codersdk.HealthcheckReport) *codersdk.HealthBase { return &r.Database.HealthBase }, "warning", "EDB03"},
		"no WebSockets": {func(c *health.Config) {
			c.Echo = func(context.Context, string, string) (health.Answer, error) { return health.Answer{Status: 400}, down }
		}, func(r *codersdk.HealthcheckReport) *codersdk.HealthBase { return &r.Websocket.HealthBase }, "error", "EWS01"},
		"WebSockets that end": {func(c *health.Config) {
			c.Echo = func(context.Context, string, string) (health.Answer, error) { return health.Answer{Status: 101}, down }
		}, func(r *codersdk.HealthcheckReport) *codersdk.HealthBase { return &r.Websocket.HealthBase }, "error", "EWS02"},
		"WebSockets that lie": {func(c *health.Config) {
			c.Echo = func(context.Context, string, string) (health.Answer, error) {
				return health.Answer{Status: 101, Body: "x"}, nil
			}
		}, func(r *codersdk.HealthcheckReport) *codersdk.HealthBase { return &r.Websocket.HealthBase }, "error", "EWS03"},
		"no provisioner": {func(c *health.Config) {
			c.Provisioners = func(context.Context, uuid.UUID) ([]codersdk.ProvisionerDaemon, error) {
				return []codersdk.ProvisionerDaemon{{Status: codersdk.ProvisionerDaemonStatusOffline}}, nil
			}
		}, func(r *codersdk.HealthcheckReport) *codersdk.HealthBase { return &r.ProvisionerDaemons.HealthBase }, "error", "EPD01"},
		"provisioners that cannot be listed": {func(c *health.Config) {
			c.Provisioners = func(context.Context, uuid.UUID) ([]codersdk.ProvisionerDaemon, error) { return nil, down }
		}, func(r *codersdk.HealthcheckReport) *codersdk.HealthBase { return &r.ProvisionerDaemons.HealthBase }, "error", "EUNKNOWN"},
		"no STUN server": {func(c *health.Config) { c.STUN = []string{"127.0.0.1:1"} },
			func(r *codersdk.HealthcheckReport) *codersdk.HealthBase { return &r.DERP.HealthBase }, "warning", "ESTUN01"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := sound(t)
			c.edit(&config)
			r := report(t, config)
			if r.Severity != c.severity && !(c.code == "EACS01" || c.code == "EACS02") {
				t.Errorf("all in all: %s, want %s", r.Severity, c.severity)
			}
			if r.Healthy != (r.Severity != codersdk.HealthSeverityError) {
				t.Errorf("healthy: %t with %s", r.Healthy, r.Severity)
			}
			if c.section == nil {
				return
			}
			b := c.section(&r)
			if b.Severity != c.severity || !strings.HasPrefix(b.Error, c.code) && !strings.Contains(codes(b.Warnings), c.code) {
				t.Errorf("%s %q %v, want %s", b.Severity, b.Error, b.Warnings, c.code)
			}
		})
	}
}

// TestVersions: a provisioner of another version is told of, with its own name.
func TestVersions(t *testing.T) {
	c := sound(t)
	c.Provisioners = func(context.Context, uuid.UUID) ([]codersdk.ProvisionerDaemon, error) {
		return []codersdk.ProvisionerDaemon{{Name: "old", Version: "v1.1.0", APIVersion: "1.0", Status: codersdk.ProvisionerDaemonStatusBusy}}, nil
	}
	r := report(t, c)
	if items := r.ProvisionerDaemons.Items; len(items) != 1 || codes(items[0].Warnings) != "EPD02 EPD03" || r.ProvisionerDaemons.Severity != codersdk.HealthSeverityWarning || !r.Healthy {
		t.Errorf("%+v", r.ProvisionerDaemons)
	}
}

// TestReplicas: the other servers are asked at their own address, and one that
// has none, or does not answer, is named.
func TestReplicas(t *testing.T) {
	c := sound(t)
	for _, sql := range []string{
		`UPDATE replicas SET relay_address = 'http://10.0.0.1:3000'`,
		`INSERT INTO replicas (id, hostname, relay_address, version, started_at, updated_at) VALUES
			(gen_random_uuid(), 'two', 'http://10.0.0.2:3000', 'v1', now(), now()), (gen_random_uuid(), 'three', '', 'v1', now(), now()),
			(gen_random_uuid(), 'gone', 'http://10.0.0.4:3000', 'v1', now() - interval '1 day', now() - interval '1 hour')`,
	} {
		if _, err := c.Store.Pool().Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	c.Fetch = func(_ context.Context, u string) (health.Answer, error) {
		if u == "http://10.0.0.2:3000/healthz" {
			return health.Answer{}, errors.New("no route to host")
		}
		return health.Answer{Status: 200, Body: "OK"}, nil
	}
	nodes := map[string]string{}
	r := report(t, c)
	for _, n := range r.DERP.Regions["999"].NodeReports {
		nodes[n.Node.Name] = n.Error
	}
	if len(nodes) != 3 || nodes["one"] != "" || !strings.Contains(nodes["two"], "no route to host") || !strings.Contains(nodes["three"], "--derp-server-relay-url") ||
		r.DERP.Healthy || !strings.HasPrefix(r.DERP.Error, "EDERP02") {
		t.Errorf("%v, %s", nodes, r.DERP.Error)
	}
}

// TestReportsHold: a report is made once for all who ask while it holds, and
// again for a caller who forces one.
func TestReportsHold(t *testing.T) {
	c := sound(t)
	now := time.Now()
	c.Now = func() time.Time { return now }
	c.Refresh = time.Minute
	var made atomic.Int32
	c.Fetch = func(context.Context, string) (health.Answer, error) {
		made.Add(1)
		return health.Answer{Status: 200}, nil
	}
	s := health.New(c)
	ask := func(force bool, want int32) {
		t.Helper()
		if _, err := s.Report(t.Context(), access.System(), force); err != nil {
			t.Fatal(err)
		}
		if made.Load() != want {
			t.Errorf("%d reports were made, want %d", made.Load(), want)
		}
	}
	ask(false, 1)
	ask(false, 1)
	now = now.Add(time.Second)
	ask(true, 2)
	now = now.Add(59 * time.Second)
	ask(false, 2)
	now = now.Add(time.Second)
	ask(false, 3)
}
