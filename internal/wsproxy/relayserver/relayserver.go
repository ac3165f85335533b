// Package relayserver relays the tunnels of clients and agents that meet at a workspace
// proxy. It forwards ciphertext.
package relayserver

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/switchboard"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

const (
	// maxLinks is the maximum number of relay WebSockets of one process.
	maxLinks = 20_000
	// meetTimeout is how long a client waits for its agent, which connects first.
	meetTimeout = 30 * time.Second
	// linkLifetime bounds a relay WebSocket. After it both ends use the primary's relay
	// and connect again with new tokens, so that lost access ends here too.
	linkLifetime = 4 * time.Hour
)

// Server is the relay of one process. It is safe for concurrent use.
type Server struct {
	log   *slog.Logger
	now   func() time.Time
	board *switchboard.Board
	key   atomic.Pointer[tunnel.RelayKey] // verifies tokens; nil: the primary issues none
	links atomic.Int64
}

// New returns a relay that accepts nothing before LoadKey. now is the clock of the primary,
// which issues the tokens.
func New(log *slog.Logger, r prometheus.Registerer, now func() time.Time) *Server {
	return &Server{log: log, now: now, board: switchboard.New(switchboard.Config{Log: log, Registerer: r})}
}

// Start makes Server a lifecycle.Service.
func (s *Server) Start(ctx context.Context) error { return s.board.Start(ctx) }

// Stop ends all links.
func (s *Server) Stop(ctx context.Context) error { return s.board.Stop(ctx) }

// HasKey reports whether the server relays tunnels.
func (s *Server) HasKey() bool { return s.key.Load() != nil }

// LoadKey gets the key of relay tokens from the primary. Older primaries have none.
func (s *Server) LoadKey(ctx context.Context, primary *codersdk.Client) error {
	resp, err := primary.Request(ctx, http.MethodGet, "/workspaceproxies/me/relay", nil, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotFound {
		s.key.Store(nil)
		return nil
	}
	if resp.StatusCode != http.StatusOK {
		return codersdk.ReadError(resp)
	}
	var key tunnel.RelayKey
	if err := json.NewDecoder(resp.Body).Decode(&key); err != nil {
		return fmt.Errorf("read the key of the relay: %w", err)
	}
	s.key.Store(&key)
	return nil
}

// Serve serves GET /api/v2/relay, the WebSocket on which a client or an agent sends the
// packets of tunnels. Its token states which end it is, and of which agent. Serve has
// replied unless it returns an error.
func (s *Server) Serve(w http.ResponseWriter, r *http.Request) error {
	key := s.key.Load()
	if key == nil {
		return codersdk.Errorf(codersdk.CodeUnavailable, "This workspace proxy does not relay tunnels now").
			WithDetail("it has not registered, or its server is an older version")
	}
	claim, err := key.Verify(r.Header.Get(tunnel.RelayTokenHeader), s.now())
	if err != nil {
		return err
	}
	defer s.links.Add(-1)
	if s.links.Add(1) > maxLinks {
		return codersdk.Errorf(codersdk.CodeUnavailable, "This workspace proxy relays too many connections; it accepts at most %d", maxLinks)
	}
	conn, err := tunnel.AcceptRelay(w, r)
	if err != nil {
		return nil //nolint:nilerr // Accept has replied already
	}
	ctx, cancel := context.WithTimeout(r.Context(), linkLifetime)
	defer cancel()
	if claim.End == tunnel.RelayAgent {
		err = s.board.Agent(ctx, claim.AgentID, conn)
	} else {
		late := time.AfterFunc(meetTimeout, cancel)
		defer late.Stop()
		err = s.board.Client(ctx, claim.AgentID, conn, func() { late.Stop() })
	}
	s.log.DebugContext(r.Context(), "relay link ended", "agent_id", claim.AgentID, "end", claim.End, "reason", err)
	return nil
}
