package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/listen"
	"github.com/seed-2a7f8fe7/coder/internal/telemetry"
)

// Server is a control plane. Start and Stop are called once each.
type Server struct {
	c         Config
	log       *slog.Logger
	registry  *prometheus.Registry
	replica   uuid.UUID
	accessURL *url.URL
	// proxyOrigins are those of workspace proxies, where pages connect to.
	proxyOrigins func() []string

	db       *database
	group    lifecycle.Group
	failed   chan error
	failOnce sync.Once
	stopping chan struct{}
}

// New checks the configuration. It starts nothing.
func New(c Config) (*Server, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if c.APIKeysRetention <= 0 {
		c.APIKeysRetention = 7 * 24 * time.Hour
	}
	if c.HostnamePrefix == "" {
		c.HostnamePrefix = "coder."
	}
	return &Server{
		c: c, log: c.Log, registry: telemetry.NewRegistry(), replica: uuid.New(),
		proxyOrigins: func() []string { return nil },
		failed:       make(chan error, 1), stopping: make(chan struct{}),
	}, nil
}

// Start brings everything up, in order: the addresses, the database with its
// schema, the use cases, the edges, and last the provisioners and the answers
// to requests. When it fails nothing runs any more.
func (s *Server) Start(ctx context.Context) error {
	began := time.Now()
	ln, err := listen.Open(s.c.HTTPAddress, s.c.TLS, s.log)
	if err != nil {
		return err
	}
	s.accessURL = s.c.AccessURL
	if s.accessURL == nil {
		if s.accessURL, err = url.Parse(ln.URL()); err != nil {
			return errors.Join(err, ln.Close())
		}
	}
	if s.db, err = openDatabase(ctx, s.c); err != nil {
		return errors.Join(err, ln.Close())
	}
	if err := s.assemble(ctx, ln); err != nil {
		return errors.Join(err, ln.Close(), s.db.close(ctx))
	}
	if s.db.cluster != nil {
		go s.watchDatabase()
	}
	s.log.Info("the server is ready", "access_url", s.accessURL.String(), "url", ln.URL(), "version", s.c.Version,
		"provisioners", s.c.ProvisionerDaemons, "built_in_postgresql", s.db.cluster != nil, "took", time.Since(began).Round(time.Millisecond).String())
	return nil
}

// watchDatabase reports the built-in PostgreSQL when it ends by itself.
func (s *Server) watchDatabase() {
	select {
	case <-s.stopping:
	case <-s.db.cluster.Exited():
		select {
		case <-s.stopping:
		default:
			s.fail(fmt.Errorf("the built-in PostgreSQL ended:\n%s", s.db.cluster.Output()))
		}
	}
}

func (s *Server) fail(err error) { s.failOnce.Do(func() { s.failed <- err }) }

// Failed delivers why the server cannot go on, should that happen.
func (s *Server) Failed() <-chan error { return s.failed }

// AccessURL is the server as people know it; set once Start returned.
func (s *Server) AccessURL() *url.URL { return s.accessURL }

// Stop ends everything in the opposite order: provisioners finish their jobs
// or, at ctx's end, are cut off, which the next start recovers from.
func (s *Server) Stop(ctx context.Context) error {
	close(s.stopping)
	err := s.group.Stop(ctx)
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	return errors.Join(err, s.db.close(closing))
}

func (s *Server) binDir() string {
	if s.c.BinDir != "" {
		return s.c.BinDir
	}
	return filepath.Join(s.c.CacheDir, "bin")
}
