package agentapi_test

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"io"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/agentapi"
	"github.com/seed-2a7f8fe7/coder/internal/agenttest"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/presence"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

// relayed is the API with users, and a client for each of them.
func relayed(t *testing.T, change ...func(*agentapi.Config)) (h *agenttest.Fixture, as func(access.Subject) *codersdk.Client, agent func(token string) *codersdk.Client) {
	t.Helper()
	h = agenttest.New(t)
	people := identity.New(identity.Config{Store: h.Store})
	c := agentapi.Config{Presence: h.Presence, Board: h.Board, Authority: h.Authority, Identity: people}
	for _, f := range change {
		f(&c)
	}
	api := agentapi.New(c)
	srv := httptest.NewServer(api.Handler())
	t.Cleanup(srv.Close)
	u, err := url.Parse(srv.URL)
	must(t, err)
	agent = func(token string) *codersdk.Client {
		c := codersdk.New(u)
		c.SessionToken = token
		return c
	}
	as = func(s access.Subject) *codersdk.Client {
		k, err := people.CreateToken(t.Context(), s, "me", codersdk.CreateTokenRequest{Lifetime: time.Hour})
		must(t, err)
		return agent(k.Key)
	}
	return h, as, agent
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// hello registers an agent's certificate, as its control connection does.
func hello(t *testing.T, h *agenttest.Fixture, token string, certificate []byte) presence.Agent {
	t.Helper()
	a, err := h.Presence.AuthenticateAgent(t.Context(), token)
	must(t, err)
	_, err = h.Presence.Hello(t.Context(), presence.Connection{ID: uuid.New(), Agent: a}, presence.Hello{Certificate: certificate})
	must(t, err)
	return a
}

// TestTunnel goes the whole way: grant, relay, handshake, stream.
func TestTunnel(t *testing.T) {
	h, as, agent := relayed(t)
	a := h.Workspace("ws")
	id, err := tunnel.NewIdentity()
	must(t, err)
	row := hello(t, h, a.Token, id.Certificate())
	l, err := tunnel.Listen(tunnel.ListenConfig{
		Identity: id, AgentID: a.ID, ClientCA: h.Authority.Certificate(), Relay: tunnel.AgentRelay(agent(a.Token)),
		Handle: func(_ context.Context, r *tunnel.Request) {
			if r.Grant.UserID != h.Owner.UserID || r.Grant.WorkspaceID != a.WorkspaceID {
				t.Errorf("the grant is %+v", r.Grant)
			}
			if s, err := r.Accept(); err == nil {
				_, _ = io.WriteString(s, r.Kind+" "+r.Arg)
			}
		},
	})
	must(t, err)
	must(t, l.Start(t.Context()))
	defer func() { must(t, l.Stop(context.Background())) }()
	c, err := tunnel.DialAgent(t.Context(), as(h.Owner), a.ID, tunnel.Options{})
	must(t, err)
	defer c.Close()
	s, err := c.Open(t.Context(), tunnel.KindTCP, "localhost:1")
	must(t, err)
	b, err := io.ReadAll(s)
	if err != nil || string(b) != "tcp localhost:1" {
		t.Errorf("%q %v", b, err)
	}
	public := ed25519.NewKeyFromSeed(h.Presence.HostKeySeed(row)).Public().(ed25519.PublicKey)
	blob, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(c.Grant().SSHHostKey, "ssh-ed25519 "))
	if err != nil || !strings.HasSuffix(string(blob), string(public)) || len(blob) != 4+11+4+32 {
		t.Errorf("host key %q: %v", c.Grant().SSHHostKey, err)
	}

	// The workspace goes away: so does the tunnel when it dials again.
	h.Delete(a.WorkspaceID)
	_, err = tunnel.DialAgent(t.Context(), as(h.Owner), a.ID, tunnel.Options{})
	if !codersdk.Is(err, codersdk.CodeNotFound) {
		t.Errorf("a deleted workspace: %v", err)
	}
}

func TestTunnelRefused(t *testing.T) {
	h, as, agent := relayed(t)
	a := h.Workspace("ws")
	id, err := tunnel.NewIdentity()
	must(t, err)
	key := codersdk.TunnelRequest{PublicKey: id.PublicKey()}
	owner := as(h.Owner)

	_, err = owner.GrantTunnel(t.Context(), a.ID, key)
	if !codersdk.Is(err, codersdk.CodeConflict) || !strings.Contains(err.Error(), "not connected yet") {
		t.Errorf("before the agent connected: %v", err)
	}
	hello(t, h, a.Token, id.Certificate())
	for name, tc := range map[string]struct {
		c    *codersdk.Client
		id   uuid.UUID
		key  []byte
		code codersdk.Code
	}{
		"a stranger":       {as(h.Stranger), a.ID, key.PublicKey, codersdk.CodeNotFound},
		"nobody":           {agent(""), a.ID, key.PublicKey, codersdk.CodeUnauthenticated},
		"an agent's token": {agent(a.Token), a.ID, key.PublicKey, codersdk.CodeUnauthenticated},
		"no such agent":    {owner, uuid.New(), key.PublicKey, codersdk.CodeNotFound},
		"no key":           {owner, a.ID, nil, codersdk.CodeInvalid},
		"a short key":      {owner, a.ID, key.PublicKey[:31], codersdk.CodeInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := tc.c.GrantTunnel(t.Context(), tc.id, codersdk.TunnelRequest{PublicKey: tc.key}); !codersdk.Is(err, tc.code) {
				t.Errorf("grant: %v", err)
			}
			if tc.code == codersdk.CodeInvalid {
				return
			}
			if _, err := tc.c.ClientRelay(t.Context(), tc.id); !codersdk.Is(err, tc.code) {
				t.Errorf("relay: %v", err)
			}
		})
	}
	if _, err := owner.AgentRelay(t.Context()); !codersdk.Is(err, codersdk.CodeUnauthenticated) {
		t.Errorf("a user at the relay of agents: %v", err)
	}
	if _, err := owner.GrantTunnel(t.Context(), a.ID, key); err != nil {
		t.Errorf("the owner: %v", err)
	}
}

// TestAgentElsewhere has the agent's link at another server, which has no address.
func TestAgentElsewhere(t *testing.T) {
	h, as, _ := relayed(t)
	a := h.Workspace("ws")
	row := hello(t, h, a.Token, []byte("certificate"))
	other := uuid.New()
	must(t, h.Store.ReplicaAnnounce(t.Context(), sqlc.ReplicaAnnounceParams{ID: other, Hostname: "elsewhere-1", Now: time.Now()}))
	must(t, h.Store.RelayHold(t.Context(), sqlc.RelayHoldParams{AgentID: row.ID, ReplicaID: other, LinkID: uuid.New(), Now: time.Now()}))
	_, err := as(h.Owner).ClientRelay(t.Context(), a.ID)
	if !codersdk.Is(err, codersdk.CodeUnavailable) || !strings.Contains(err.Error(), "elsewhere-1") {
		t.Errorf("got %v", err)
	}
	must(t, h.Store.ReplicaRetire(t.Context(), time.Now(), other))
	ws, err := as(h.Owner).ClientRelay(t.Context(), a.ID)
	must(t, err) // that server is gone: the agent will come here
	_ = ws.CloseNow()
}

// With --browser-only nobody gets a tunnel of their own, and the server does.
func TestBrowserOnly(t *testing.T) {
	h, as, _ := relayed(t, func(c *agentapi.Config) { c.BrowserOnly = true })
	a := h.Workspace("ws")
	hello(t, h, a.Token, []byte("certificate"))
	public, _, err := ed25519.GenerateKey(nil)
	must(t, err)
	if _, err := as(h.Owner).GrantTunnel(t.Context(), a.ID, codersdk.TunnelRequest{PublicKey: public}); !codersdk.Is(err, codersdk.CodeForbidden) || !strings.Contains(err.Error(), "browser") {
		t.Errorf("a grant: %v", err)
	}
	if _, err := as(h.Owner).Dial(t.Context(), "/workspaceagents/"+a.ID.String()+"/relay", nil); !codersdk.Is(err, codersdk.CodeForbidden) {
		t.Errorf("the relay: %v", err)
	}
	if _, err := as(h.Stranger).GrantTunnel(t.Context(), a.ID, codersdk.TunnelRequest{PublicKey: public}); !codersdk.Is(err, codersdk.CodeNotFound) {
		t.Errorf("a stranger: %v", err)
	}
}
