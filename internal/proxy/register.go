package proxy

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

const (
	secretSize = 32
	// silent is the age of a proxy process's last registration after which it is dropped.
	silent = 90 * time.Second
	// maxText is the maximum length of a proxy's texts in bytes.
	maxText = 512
	maxURL  = 2048
)

// newToken returns a token, which is the proxy's ID and a secret, and its hash.
func newToken(id uuid.UUID) (token string, hash []byte) {
	secret := make([]byte, secretSize)
	rand.Read(secret) //nolint:errcheck // documented never to fail
	sum := sha256.Sum256(secret)
	return id.String() + ":" + hex.EncodeToString(secret), sum[:]
}

// Proxy is an authenticated proxy.
type Proxy struct{ row sqlc.WorkspaceProxy }

// ID is the proxy's.
func (p Proxy) ID() uuid.UUID { return p.row.ID }

// AccessURL is "" while the proxy is not registered.
func (p Proxy) AccessURL() string { return p.row.AccessUrl }

// Wildcard is the wildcard host of its apps, "" for none.
func (p Proxy) Wildcard() string { return p.row.WildcardHostname }

// Authenticate returns the proxy of a token.
func (s *Service) Authenticate(ctx context.Context, token string) (Proxy, error) {
	refused := codersdk.Errorf(codersdk.CodeUnauthenticated, "The workspace proxy token is not valid").
		WithDetail("create a proxy with coder wsproxy create, or a new token with coder wsproxy regenerate-token")
	name, text, _ := strings.Cut(token, ":")
	id, err := uuid.Parse(name)
	secret, hexErr := hex.DecodeString(text)
	if err != nil || hexErr != nil || len(secret) != secretSize {
		return Proxy{}, refused
	}
	row, err := s.c.Store.ProxyByID(ctx, id)
	if codersdk.Is(err, codersdk.CodeNotFound) {
		return Proxy{}, refused
	}
	if err != nil {
		return Proxy{}, err
	}
	if sum := sha256.Sum256(secret); subtle.ConstantTimeCompare(sum[:], row.TokenHash) != 1 {
		return Proxy{}, refused
	}
	return Proxy{row}, nil
}

// Register stores the data of a proxy's process and returns the other processes of that proxy. It is
// called every 30 seconds.
func (s *Service) Register(ctx context.Context, p Proxy, req codersdk.RegisterWorkspaceProxyRequest) ([]codersdk.Replica, error) {
	at, err := s.checkRegistration(req)
	if err != nil {
		return nil, err
	}
	now := s.c.Now()
	var siblings []sqlc.WorkspaceProxyReplica
	err = s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		if _, err := q.ProxyForUpdate(ctx, p.ID()); err != nil {
			return err
		}
		if err := q.ProxyReplicasForget(ctx, p.ID(), now.Add(-silent)); err != nil {
			return err
		}
		n, err := q.ProxyReplicaPut(ctx, sqlc.ProxyReplicaPutParams{
			ID: req.ReplicaID, ProxyID: p.ID(), Hostname: req.ReplicaHostname, RelayAddress: req.ReplicaRelayAddress,
			Error: sanitizeText(req.ReplicaError), Version: req.Version, Now: now,
		})
		if err != nil {
			return err
		}
		if n == 0 {
			return codersdk.Errorf(codersdk.CodeConflict, "The replica %s belongs to another proxy", req.ReplicaID)
		}
		if err := q.ProxyRegister(ctx, sqlc.ProxyRegisterParams{
			ID: p.ID(), AccessUrl: at, WildcardHostname: req.WildcardHostname, DerpEnabled: req.DERPEnabled, DerpOnly: req.DERPOnly, Version: req.Version, Now: now,
		}); err != nil {
			return taken(err, sqlc.WorkspaceProxy{AccessUrl: at})
		}
		siblings, err = q.ProxyReplicas(ctx, p.ID(), req.ReplicaID)
		return err
	})
	if err != nil {
		return nil, err
	}
	select {
	case s.look <- struct{}{}:
	default:
	}
	out := []codersdk.Replica{}
	for _, r := range siblings {
		out = append(out, codersdk.Replica{ID: r.ID, Hostname: r.Hostname, RelayAddress: r.RelayAddress, Error: r.Error, CreatedAt: r.StartedAt})
	}
	return out, nil
}

// checkRegistration checks the data of a proxy's process and returns its access URL in canonical form.
func (s *Service) checkRegistration(req codersdk.RegisterWorkspaceProxyRequest) (string, error) {
	u, err := url.Parse(req.AccessURL)
	if err != nil || len(req.AccessURL) > maxURL || u.Scheme != "http" && u.Scheme != "https" ||
		strings.Trim(strings.ToLower(u.Host), "abcdefghijklmnopqrstuvwxyz0123456789-.:[]") != "" ||
		u.Hostname() == "" ||
		u.User != nil ||
		u.RawQuery != "" ||
		u.Fragment != "" ||
		strings.Trim(u.Path, "/") != "" {
		return "", codersdk.Invalid(
			"access_url",
			"%q is not a valid access URL; set --access-url of the proxy to a URL such as https://sydney.coder.example.com",
			sanitizeText(req.AccessURL),
		)
	}
	at := u.Scheme + "://" + strings.ToLower(u.Host)
	if strings.EqualFold(u.Host, s.c.AccessURL.Host) {
		return "", codersdk.Invalid("access_url", "%s is the address of the server itself; a proxy needs its own host", at)
	}
	if req.ReplicaID == uuid.Nil {
		return "", codersdk.Invalid("replica_id", "every process of a proxy needs its own ID")
	}
	for field, text := range map[string]string{"hostname": req.ReplicaHostname, "replica_relay_address": req.ReplicaRelayAddress, "version": req.Version} {
		if len(text) > maxText || strings.ContainsFunc(text, func(c rune) bool { return c < ' ' }) {
			return "", codersdk.Invalid(field, "must be one line of at most %d bytes", maxText)
		}
	}
	return at, nil
}

// sanitizeText returns another program's text in a form that can be stored and shown.
func sanitizeText(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "")
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "")
	}
	return text
}

// Deregister records the end of a proxy's process. After the last one the proxy is unregistered.
func (s *Service) Deregister(ctx context.Context, p Proxy, replica uuid.UUID) error {
	return s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		if _, err := q.ProxyForUpdate(ctx, p.ID()); err != nil {
			return err
		}
		if err := q.ProxyReplicaDelete(ctx, replica, p.ID()); err != nil {
			return err
		}
		if err := q.ProxyReplicasForget(ctx, p.ID(), s.c.Now().Add(-silent)); err != nil {
			return err
		}
		_, err := q.ProxyUnregister(ctx, p.ID())
		return err
	})
}
