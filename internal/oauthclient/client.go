// Package oauthclient sends requests to OAuth2 providers: identity providers, and the providers of external
// authentication. Requests are bounded in time and size, never follow a redirect with a token, and are
// counted. The package also seals the state that a browser keeps while a user signs in at a provider.
package oauthclient

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/oauth2"
)

// Limits of a request to a provider.
const (
	Timeout   = 15 * time.Second
	maxAnswer = 1 << 20 // bytes of a response
)

// Values of the label source: the purpose of a request.
const (
	SourceExchange      = "Exchange"
	SourceRefresh       = "TokenSource"
	SourceValidate      = "ValidateToken"
	SourceRevoke        = "RevokeToken"
	SourceDevice        = "AuthorizeDevice"
	SourceInstallations = "AppInstallations"
	SourceProbe         = "HealthCheck"
	SourceAccount       = "GitAPIAuthUser" // the account of a user who signs in
)

type sourceKey struct{}

// WithSource sets the label source of the requests of ctx.
func WithSource(ctx context.Context, source string) context.Context {
	return context.WithValue(ctx, sourceKey{}, source)
}

// WithClient makes package oauth2 send its requests with the client, for the purpose of source.
func WithClient(ctx context.Context, c *http.Client, source string) context.Context {
	return context.WithValue(WithSource(ctx, source), oauth2.HTTPClient, c)
}

// Metrics counts requests to providers and reports their rate limits. It is safe for concurrent use.
type Metrics struct {
	requests                               *prometheus.CounterVec
	limit, remaining, used, next, resetsIn *prometheus.GaugeVec
	now                                    func() time.Time
}

// NewMetrics returns metrics in a registry; nil registers none.
func NewMetrics(r prometheus.Registerer) *Metrics {
	const prefix = "coderd_oauth2_external_requests_"
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: prefix + name, Help: help}, []string{"name", "resource"})
	}
	m := &Metrics{
		now: time.Now,
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "total", Help: "Requests to OAuth2 providers. The status code is 0 if there was no response.",
		}, []string{"name", "source", "status_code"}),
		limit:     gauge("rate_limit", "Requests that the provider allows in its current period."),
		remaining: gauge("rate_limit_remaining", "Requests that the provider still allows in its current period."),
		used:      gauge("rate_limit_used", "Requests that the provider counted in its current period."),
		next:      gauge("rate_limit_next_reset_unix", "Time at which the provider's period ends, in seconds since 1970."),
		resetsIn:  gauge("rate_limit_reset_in_seconds", "Seconds until the provider's period ends, as of the last response."),
	}
	if r != nil {
		r.MustRegister(m.requests, m.limit, m.remaining, m.used, m.next, m.resetsIn)
	}
	return m
}

// Client returns the HTTP client for a provider, whose name is a label of the metrics. Its requests go
// through next; nil means http.DefaultTransport. It returns redirects as responses.
func (m *Metrics) Client(name string, next http.RoundTripper) *http.Client {
	if next == nil {
		next = http.DefaultTransport
	}
	return &http.Client{
		Transport: transport{m, name, next}, Timeout: Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// transport counts requests and bounds responses.
type transport struct {
	m    *Metrics
	name string
	next http.RoundTripper
}

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	source, _ := r.Context().Value(sourceKey{}).(string)
	resp, err := t.next.RoundTrip(r)
	if err != nil {
		t.m.requests.WithLabelValues(t.name, source, "0").Inc()
		return nil, err
	}
	t.m.requests.WithLabelValues(t.name, source, strconv.Itoa(resp.StatusCode)).Inc()
	t.m.observe(t.name, resp.Header)
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(resp.Body, maxAnswer), resp.Body}
	return resp, nil
}

// observe records the rate limit that a response reports.
func (m *Metrics) observe(name string, h http.Header) {
	resource := h.Get("X-Ratelimit-Resource")
	if resource == "" {
		resource = "core"
	}
	for header, gauge := range map[string]*prometheus.GaugeVec{
		"X-Ratelimit-Limit": m.limit, "X-Ratelimit-Remaining": m.remaining, "X-Ratelimit-Used": m.used, "X-Ratelimit-Reset": m.next,
	} {
		v, err := strconv.ParseFloat(h.Get(header), 64)
		if err != nil {
			continue
		}
		gauge.WithLabelValues(name, resource).Set(v)
		if gauge == m.next {
			m.resetsIn.WithLabelValues(name, resource).Set(max(0, v-float64(m.now().Unix())))
		}
	}
}

// Refusal returns the error code and the description with which a provider refused a request; ok is false
// for failures of other kinds, such as a provider that cannot be reached, responds with a page, or cannot
// process requests at the moment.
func Refusal(err error) (code, description string, ok bool) {
	e, is := errors.AsType[*oauth2.RetrieveError](err)
	if !is || e.ErrorCode == "" {
		return "", "", false
	}
	if r := e.Response; r != nil && (r.StatusCode >= http.StatusInternalServerError || r.StatusCode == http.StatusTooManyRequests) {
		return "", "", false
	}
	return e.ErrorCode, e.ErrorDescription, true
}

// Describe returns the reason of a failed request without the body of the response, which could contain
// secrets.
func Describe(err error) string {
	e, ok := errors.AsType[*oauth2.RetrieveError](err)
	switch {
	case !ok:
		return truncate(err.Error())
	case e.ErrorCode != "" && e.ErrorDescription != "":
		return truncate(e.ErrorCode + ": " + e.ErrorDescription)
	case e.ErrorCode != "":
		return truncate(e.ErrorCode)
	case e.Response != nil:
		return "the provider responded " + e.Response.Status
	}
	return "the provider sent no token"
}

// truncate bounds the length of a text from a provider.
func truncate(s string) string {
	const most = 300
	if len(s) > most {
		s = s[:most] + "..."
	}
	return s
}
