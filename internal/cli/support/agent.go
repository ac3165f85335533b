package support

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/cli/support/files"
	"github.com/seed-2a7f8fe7/coder/internal/supportbundle"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

// connectionReport describes how this machine reaches the agent.
type connectionReport struct {
	Route     string  `json:"route"` // direct, relay or none
	Why       string  `json:"why_not_direct,omitempty"`
	Address   string  `json:"address,omitempty"` // of the agent, for a direct connection
	PingMS    float64 `json:"ping_ms,omitempty"`
	PingError string  `json:"ping_error,omitempty"`
	RelayMS   float64 `json:"relay_ms,omitempty"`
	DirectMS  float64 `json:"direct_ms,omitempty"`
}

// connect connects to the agent through a tunnel.
func (t *target) connect(ctx context.Context, log *slog.Logger) (*supportbundle.AgentConn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	o := tunnel.Options{Log: log, Outage: tunnel.ServerOutage, Waiting: cancel}
	if t.app.DisableDirect {
		o.NoDirect = "direct connections are disabled on this machine (--disable-direct-connections)"
	}
	conn, err := tunnel.DialAgent(ctx, t.client, t.agent.ID, o)
	if err != nil {
		return nil, err
	}
	agent := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return conn.Open(ctx, tunnel.KindAgentAPI, "")
	}}}
	more := []supportbundle.Step{{Name: "agent/connection.json", Run: func(ctx context.Context, b *supportbundle.Bundle) error {
		return addConnection(ctx, b, conn)
	}}}
	if len(t.flags.workspaceFiles) > 0 {
		more = append(more, supportbundle.Step{Name: "agent/extra_files", Limit: 3 * time.Minute, Run: func(ctx context.Context, b *supportbundle.Bundle) error {
			return files.Read(ctx, b, conn, t.flags.workspaceFiles)
		}})
	}
	return &supportbundle.AgentConn{HTTP: agent, More: more, Close: func() {
		agent.CloseIdleConnections()
		conn.Close() //nolint:errcheck // everything was read
	}}, nil
}

func addConnection(ctx context.Context, b *supportbundle.Bundle, conn *tunnel.Conn) error {
	var r connectionReport
	if took, err := conn.Ping(ctx); err != nil {
		r.PingError = err.Error()
	} else {
		r.PingMS = milliseconds(took)
	}
	route := conn.Route()
	r.Route, r.Why, r.RelayMS, r.DirectMS = route.Name, route.Why, milliseconds(route.RelayRTT), milliseconds(route.DirectRTT)
	if route.Addr.IsValid() {
		r.Address = route.Addr.String()
	}
	return b.AddJSON("agent/connection.json", r)
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
