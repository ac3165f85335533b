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

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

const (
	secretSize = 32
	// silent is how long a process of a proxy counts that says nothing.
	silent = 90 * time.Second
	// maxText bounds what a proxy says of itself, in bytes.
	maxText = 512
	maxURL  = 2048
)

// newToken makes a token, which is the proxy's id and a secret, and its hash.
func newToken(id uuid.UUID) (token string, hash []byte) {
	secret := make([]byte, secretSize)
	rand.Read(secret) //nolint:errcheck // documented never to fail
	sum := sha256.Sum256(secret)
	return id.String() + ":" + hex.EncodeToString(secret), sum[:]
}

// Proxy is a proxy that has signed in.
type Proxy struct{ row sqlc.WorkspaceProxy }

// ID is the proxy's.
func (p Proxy) ID() uuid.UUID { return p.row.ID }

// AccessURL is where it stands; "" while it is not registered.
func (p Proxy) AccessURL() string { return p.row.AccessUrl }

// Wildcard is the host names of the apps there, "" for none.
func (p Proxy) Wildcard() string { return p.row.WildcardHostname }

// Authenticate says whose token it is.
func (s *Service) Authenticate(ctx context.Context, token string) (Proxy, error) {
	refused := coder.Errorf(coder.CodeUnauthenticated, "This is not the token of a workspace proxy, or not any more").
		WithDetail("an owner makes one with coder wsproxy create, or another with coder wsproxy regenerate-token")
	name, text, _ := strings.Cut(token, ":")
	id, err := uuid.Parse(name)
	secret, hexErr := hex.DecodeString(text)
	if err != nil || hexErr != nil || len(secret) != secretSize {
		return Proxy{}, refused
	}
	row, err := s.c.Store.ProxyByID(ctx, id)
	if coder.Is(err, coder.CodeNotFound) {
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

// Register keeps what a process of a proxy says of itself and gives the other
// processes of that proxy. It is said again every half minute.
func (s *Service) Register(ctx context.Context, p Proxy, req coder.RegisterWorkspaceProxyRequest) ([]coder.Replica, error) {
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
			Error: clip(req.ReplicaError), Version: req.Version, Now: now,
		})
		if err != nil {
			return err
		}
		if n == 0 {
			return coder.Errorf(coder.CodeConflict, "The replica %s is one of another proxy", req.ReplicaID)
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
	out := []coder.Replica{}
	for _, r := range siblings {
		out = append(out, coder.Replica{ID: r.ID, Hostname: r.Hostname, RelayAddress: r.RelayAddress, Error: r.Error, CreatedAt: r.StartedAt})
	}
	return out, nil
}

// checkRegistration refuses what a proxy cannot be, and gives its URL in the
// one form that all its spellings share.
func (s *Service) checkRegistration(req coder.RegisterWorkspaceProxyRequest) (string, error) {
	u, err := url.Parse(req.AccessURL)
	if err != nil || len(req.AccessURL) > maxURL || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(strings.ToLower(u.Host), "abcdefghijklmnopqrstuvwxyz0123456789-.:[]") != "" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "" {
		return "", coder.Invalid("access_url", "%q is not the URL of a host, such as https://sydney.coder.example.com; give the proxy one with --access-url", clip(req.AccessURL))
	}
	at := u.Scheme + "://" + strings.ToLower(u.Host)
	if strings.EqualFold(u.Host, s.c.AccessURL.Host) {
		return "", coder.Invalid("access_url", "%s is the server itself; a proxy needs a host of its own", at)
	}
	if req.ReplicaID == uuid.Nil {
		return "", coder.Invalid("replica_id", "give each process of a proxy an id of its own")
	}
	for field, text := range map[string]string{"hostname": req.ReplicaHostname, "replica_relay_address": req.ReplicaRelayAddress, "version": req.Version} {
		if len(text) > maxText || strings.ContainsFunc(text, func(c rune) bool { return c < ' ' }) {
			return "", coder.Invalid(field, "must be one line of at most %d bytes", maxText)
		}
	}
	return at, nil
}

// clip makes what another program says a text that can be kept and shown.
func clip(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "")
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "")
	}
	return text
}

// Deregister notes that a process of a proxy ends. After the last one the proxy
// is unregistered.
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
