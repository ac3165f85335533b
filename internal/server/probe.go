package server

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/deployment"
	"github.com/seed-2a7f8fe7/coder/internal/health"
	"github.com/seed-2a7f8fe7/coder/internal/insight"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
)

const (
	// probeLimit is how long a server may take to answer a health check.
	probeLimit = 10 * time.Second
	// probeBody bounds what is read of an answer, in bytes.
	probeBody = 1 << 10
)

// site makes the rooms that are about the site as a whole.
func (s *Server) site(r *rooms) {
	docs := ""
	if s.c.DocsURL != nil {
		docs = s.c.DocsURL.String()
	}
	store := s.db.store
	r.site = deployment.New(deployment.Config{Store: store, Settings: s.c.Settings, DocsURL: docs, SupportLinks: s.c.SupportLinks, UpgradeMessage: s.c.UpgradeMessage, ReplicaID: s.replica})
	r.insights = insight.New(insight.Config{Store: store})
	r.health = health.New(health.Config{
		Store: store, AccessURL: s.accessURL, Version: s.c.Version, ReplicaID: s.replica, Refresh: s.c.HealthRefresh, Threshold: s.c.HealthThreshold,
		STUN: s.stunServers(), Fetch: probePage, Echo: probeSocket,
		Proxies: func(ctx context.Context) ([]coder.WorkspaceProxy, error) { return r.proxies.All(ctx, access.System()) },
		Provisioners: func(ctx context.Context, organization uuid.UUID) ([]coder.ProvisionerDaemon, error) {
			return r.queue.Daemons(ctx, access.System(), organization, queue.DaemonFilter{})
		},
	})
}

// probePage gets a page, for health checks.
func probePage(ctx context.Context, url string) (health.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return health.Answer{}, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return health.Answer{}, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, probeBody))
	return health.Answer{Status: resp.StatusCode, Body: strings.ToValidUTF8(string(b), "")}, err
}

// probeSocket sends a text by WebSocket and gives what came back, for health checks.
// The status of an error is 101 when there was a WebSocket at least.
func probeSocket(ctx context.Context, url, text string) (health.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	conn, resp, err := websocket.Dial(ctx, url, nil)
	var a health.Answer
	if resp != nil {
		a.Status = resp.StatusCode
	}
	if err != nil {
		if resp != nil && resp.Body != nil {
			b, _ := io.ReadAll(io.LimitReader(resp.Body, probeBody)) // what there is of it
			a.Body = strings.ToValidUTF8(string(b), "")
		}
		return a, err
	}
	defer conn.CloseNow() //nolint:errcheck // it is over
	conn.SetReadLimit(probeBody)
	if err := conn.Write(ctx, websocket.MessageText, []byte(text)); err != nil {
		return a, err
	}
	_, b, err := conn.Read(ctx)
	a.Body = string(b)
	return a, err
}
