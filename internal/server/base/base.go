// Package base has what every group of the server is built on: the identity of
// the process and of the deployment, the log, the metrics, the database and the
// hints between replicas.
package base

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-2a7f8fe7/coder/internal/clock"
	"github.com/seed-2a7f8fe7/coder/internal/dbcrypt"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/oauthclient"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/telemetry"
	"github.com/seed-2a7f8fe7/coder/internal/tracing"
	"github.com/seed-2a7f8fe7/coder/internal/tracing/otlp"
)

// RequestTimeout bounds a request that the server sends to check another server.
const RequestTimeout = 10 * time.Second

// Base is set before the groups are created and never changes after, so that
// it can be used concurrently.
type Base struct {
	Version    string
	Log        *slog.Logger
	Registry   *prometheus.Registry
	Measured   bool      // metrics are served
	Replica    uuid.UUID // of this process
	Deployment uuid.UUID // of all replicas together
	CacheDir   string
	AccessURL  *url.URL
	Outgoing   *http.Transport // of requests to other servers
	Store      *postgres.Store
	Vault      *dbcrypt.Vault // encrypts secrets in the store
	clock      clock.Clock    // of the database
	Hub        *notify.Hub
	Tracer     *tracing.Tracer // nil: nothing is traced
	Agents     *tracing.Tracer // of what agents report; nil: nothing is traced

	traces   *otlp.Exporter // nil: nothing is traced
	once     sync.Once
	requests *oauthclient.Metrics
}

// Requests returns the metrics of requests to OAuth2 providers.
func (b *Base) Requests() *oauthclient.Metrics {
	b.once.Do(func() { b.requests = oauthclient.NewMetrics(b.Registry) })
	return b.requests
}

// Logger returns the log of the package of that name.
func (b *Base) Logger(name string) *slog.Logger { return b.Log.With(telemetry.NameKey, name) }

// WhenMeasured returns the registry, or nil while metrics are off, for packages
// whose metrics cost work.
func (b *Base) WhenMeasured() prometheus.Registerer {
	if !b.Measured {
		return nil
	}
	return b.Registry
}

// Secret returns the secret of that name, size bytes that all replicas share.
// The first call of the deployment creates it.
func (b *Base) Secret(ctx context.Context, name string, size int) ([]byte, error) {
	fresh := make([]byte, size)
	rand.Read(fresh) //nolint:errcheck // documented never to fail
	sealed, digest := b.Vault.SealSecret(name, fresh)
	row, err := b.Store.EnsureSecret(ctx, name, sealed, digest)
	if err != nil {
		return nil, fmt.Errorf("read the secret %s: %w", name, err)
	}
	return b.Vault.OpenSecret(name, row.Value, row.KeyID)
}

// Get requests a URL and returns the status and at most limit bytes of the body.
// Redirects are followed only when follow is set.
func (b *Base) Get(ctx context.Context, url string, limit int64, follow bool) (status int, body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, nil, err
	}
	client := http.Client{Transport: b.Outgoing}
	if !follow {
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(io.LimitReader(resp.Body, limit))
	return resp.StatusCode, body, err
}
