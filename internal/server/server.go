package server

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/internal/download"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/listen"
	"github.com/seed-2a7f8fe7/coder/internal/server/base"
	"github.com/seed-2a7f8fe7/coder/internal/server/database"
	"github.com/seed-2a7f8fe7/coder/internal/server/retention"
	"github.com/seed-2a7f8fe7/coder/internal/telemetry"
)

// Server is a control plane. Start and Stop are called once each.
type Server struct {
	c        Config
	base     *base.Base
	database *database.Database
	programs *download.Handler
	services lifecycle.Group
	records  []retention.Kind // that are deleted in the background
	failed   chan error
	failOnce sync.Once
	stopping chan struct{}
	drain    drain

	ready    sync.Mutex // guards the fields below, of readyz
	pinged   time.Time
	responds bool // the database, when it was pinged
}

// New checks the configuration. It starts nothing.
func New(c Config) (*Server, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	outgoing, err := c.Network.TLS.Transport()
	if err != nil {
		return nil, err
	}
	return &Server{
		c: c,
		base: &base.Base{
			Version: c.Version, Log: c.Log, Registry: telemetry.NewRegistry(), Measured: c.Observability.PrometheusEnable,
			Replica: uuid.New(), CacheDir: c.CacheDir, Outgoing: outgoing,
		},
		failed: make(chan error, 1), stopping: make(chan struct{}),
	}, nil
}

// Start starts everything in order: the addresses, the database with its
// schema, the use cases, the edges, and last the provisioners and the answers
// to requests. After an error nothing runs.
func (s *Server) Start(ctx context.Context) error {
	start := time.Now()
	ln, err := listen.Open(s.c.Network.HTTPAddress, s.c.Network.TLS, s.base.Log)
	if err != nil {
		return err
	}
	s.base.AccessURL = s.c.Network.AccessURL
	if s.base.AccessURL == nil {
		if s.base.AccessURL, err = url.Parse(ln.URL()); err != nil {
			return errors.Join(err, ln.Close())
		}
	}
	if s.database, err = database.Open(ctx, s.c.database(), s.base.WhenMeasured()); err != nil {
		return errors.Join(err, ln.Close())
	}
	s.base.Store = s.database.Store
	if err := s.base.ReadClock(ctx); err != nil {
		return errors.Join(err, ln.Close(), s.database.Close(ctx))
	}
	if err := s.base.StartTraces(ctx, s.c.Observability.Traces, s.c.secrets()); err != nil {
		return errors.Join(err, ln.Close(), s.database.Close(ctx))
	}
	if err := s.assemble(ctx, ln); err != nil {
		s.base.StopTraces(ctx)
		return errors.Join(err, ln.Close(), s.database.Close(ctx))
	}
	if s.database.Cluster != nil {
		go s.watchDatabase()
	}
	s.base.Log.Info("the server is ready", "access_url", s.base.AccessURL.String(), "url", ln.URL(), "version", s.c.Version,
		"provisioners", s.c.Provisioning.Daemons, "built_in_postgresql", s.database.Cluster != nil, "took", time.Since(start).Round(time.Millisecond).String())
	return nil
}

// watchDatabase reports that the built-in PostgreSQL ended unexpectedly.
func (s *Server) watchDatabase() {
	select {
	case <-s.stopping:
	case <-s.database.Cluster.Exited():
		select {
		case <-s.stopping:
		default:
			s.fail(fmt.Errorf("the built-in PostgreSQL ended:\n%s", s.database.Cluster.Output()))
		}
	}
}

func (s *Server) fail(err error) { s.failOnce.Do(func() { s.failed <- err }) }

// Failed delivers the error after which the server cannot continue.
func (s *Server) Failed() <-chan error { return s.failed }

// AccessURL returns the URL of the server for users. It is set once Start returned.
func (s *Server) AccessURL() *url.URL { return s.base.AccessURL }

// Stop stops everything in the opposite order. From the start of the stop, /healthz is not ready and
// built-in provisioners take no builds. They finish their jobs; at the end of ctx they are killed, and the
// next start recovers the jobs. If other replicas run, requests are served for the drain period. Then the
// listeners close, and agents, clients and external provisioners receive the request to connect to another replica.
func (s *Server) Stop(ctx context.Context) error {
	s.drain.began = time.Now()
	close(s.stopping)
	err := s.services.Stop(ctx)
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	s.base.StopTraces(closing)
	return errors.Join(err, s.database.Close(closing))
}
