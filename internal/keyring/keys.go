package keyring

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"maps"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// object is what access is asked about for keys of an organization.
func object(organizationID uuid.UUID) access.Object {
	return access.Object{Type: coder.RBACResourceProvisionerDaemon, OrganizationID: organizationID}
}

// maxReplaced bounds how many replaced keys of one name are good at a time.
const maxReplaced = 10

// maxRows bounds one page of keys.
const maxRows = 1000

// Create makes a key and gives its secret, which is shown this once and
// stored as its SHA-256 only. (PRV-05, PRV-09)
func (s *Service) Create(ctx context.Context, actor access.Subject, organizationID uuid.UUID, req coder.CreateProvisionerKeyRequest) (string, error) {
	if err := actor.Check(coder.RBACActionCreate, object(organizationID)); err != nil {
		return "", err
	}
	if err := coder.CheckName("name", req.Name); err != nil {
		return "", err
	}
	if coder.ReservedProvisionerKey(req.Name) != uuid.Nil {
		return "", coder.Invalid("name", "%q is reserved", req.Name)
	}
	if err := checkSeconds("expires_in_seconds", req.ExpiresInSeconds); err != nil {
		return "", err
	}
	tags, err := checkTags(req.Tags)
	if err != nil {
		return "", err
	}
	secret, add := newSecret(sqlc.QueueAddKeyParams{OrganizationID: organizationID, Name: req.Name, Tags: tags, LifetimeS: req.ExpiresInSeconds})
	err = s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		k, err := q.QueueAddKey(ctx, add)
		if coder.Is(err, coder.CodeConflict) {
			return coder.Errorf(coder.CodeConflict, "A provisioner key named %q exists already; rotate it to get a new secret", req.Name)
		}
		if err != nil {
			return err
		}
		return s.audit(ctx, q, actor, coder.AuditActionCreate, k, nil)
	})
	if err != nil {
		return "", err
	}
	return secret, nil
}

// checkTags gives the tags that a key may have, never nil.
func checkTags(in map[string]string) (coder.Tags, error) {
	if err := coder.CheckTags("tags", in); err != nil {
		return nil, err
	}
	for _, k := range []string{coder.TagScope, coder.TagOwner} {
		if _, ok := in[k]; ok {
			return nil, coder.Invalid("tags", "the tag %q is set by the server", k)
		}
	}
	if in == nil {
		return coder.Tags{}, nil
	}
	return in, nil
}

func checkSeconds(field string, n int64) error {
	if n < 0 || n > coder.MaxProvisionerKeySeconds {
		return coder.Invalid(field, "must be from 0 to %d seconds, which is ten years", coder.MaxProvisionerKeySeconds)
	}
	return nil
}

// newSecret completes a row with an id and a new secret's hash.
func newSecret(p sqlc.QueueAddKeyParams) (string, sqlc.QueueAddKeyParams) {
	var b [32]byte
	rand.Read(b[:]) //nolint:errcheck // documented never to fail
	secret := base64.RawURLEncoding.EncodeToString(b[:])
	hash := sha256.Sum256([]byte(secret))
	p.ID, p.SecretHash = uuid.New(), hash[:]
	return secret, p
}

// Rotate makes a new key under the name of the current one, with its tags or
// with those that are asked for.
// The old one stays good for the grace; without one it is deleted, and whoever
// came with it is sent away at once.
func (s *Service) Rotate(ctx context.Context, actor access.Subject, organizationID uuid.UUID, ref string, req coder.RotateProvisionerKeyRequest) (coder.RotateProvisionerKeyResponse, error) {
	var out coder.RotateProvisionerKeyResponse
	if err := actor.Check(coder.RBACActionUpdate, object(organizationID)); err != nil {
		return out, err
	}
	if coder.ReservedProvisionerKey(ref) != uuid.Nil {
		return out, coder.Invalid("provisionerkey", "%q is reserved and has no secret that could be rotated", ref)
	}
	if err := errors.Join(checkSeconds("grace_seconds", req.GraceSeconds), checkSeconds("expires_in_seconds", req.ExpiresInSeconds)); err != nil {
		return out, err
	}
	tags, err := checkTags(req.Tags)
	if err != nil {
		return out, err
	}
	err = s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		row, err := q.QueueLockKey(ctx, organizationID, ref)
		if err != nil {
			return err
		}
		old := row.ProvisionerKey
		if len(tags) == 0 && !req.ReplaceTags {
			tags = old.Tags
		}
		if row.Replaced >= maxReplaced && req.GraceSeconds > 0 {
			return coder.Errorf(coder.CodeConflict, "%d older keys named %q are still good; delete some by their ids, or rotate without a grace", row.Replaced, old.Name)
		}
		lifetime := req.ExpiresInSeconds
		if lifetime == 0 && old.ExpiresAt != nil {
			lifetime = max(int64(old.ExpiresAt.Sub(old.CreatedAt)/time.Second), 1)
		}
		ended, err := s.retire(ctx, q, old, req.GraceSeconds)
		if err != nil {
			return err
		}
		secret, add := newSecret(sqlc.QueueAddKeyParams{OrganizationID: organizationID, Name: old.Name, Tags: tags, LifetimeS: lifetime})
		k, err := q.QueueAddKey(ctx, add)
		if err != nil {
			return err
		}
		out = coder.RotateProvisionerKeyResponse{Key: secret, ExpiresAt: k.ExpiresAt, OldExpiresAt: ended}
		diff := coder.AuditDiff{
			"secret":     {Secret: true},
			"id":         {Old: old.ID, New: k.ID},
			"expires_at": {Old: old.ExpiresAt, New: k.ExpiresAt},
		}
		if !maps.Equal(old.Tags, k.Tags) {
			diff["tags"] = coder.AuditDiffField{Old: old.Tags, New: k.Tags}
		}
		return s.audit(ctx, q, actor, coder.AuditActionWrite, k, diff)
	})
	if err != nil {
		return coder.RotateProvisionerKeyResponse{}, err
	}
	s.Hub.Publish(notify.ProvisionerKeys())
	return out, nil
}

// retire lets a key live for the grace and no longer, and gives when it ends.
func (s *Service) retire(ctx context.Context, q *sqlc.Queries, old sqlc.ProvisionerKey, grace int64) (time.Time, error) {
	if grace == 0 {
		_, err := q.QueueDeleteKeys(ctx, old.OrganizationID, old.ID.String())
		return time.Now().UTC(), err
	}
	k, err := q.QueueReplaceKey(ctx, grace, old.ID)
	if err != nil {
		return time.Time{}, err
	}
	return *k.ExpiresAt, nil
}

// Delete deletes all keys of a name, or the one of an id. Daemons that came
// with it are sent away at once; see Hold.
func (s *Service) Delete(ctx context.Context, actor access.Subject, organizationID uuid.UUID, ref string) error {
	if err := actor.Check(coder.RBACActionDelete, object(organizationID)); err != nil {
		return err
	}
	if coder.ReservedProvisionerKey(ref) != uuid.Nil {
		return coder.Invalid("provisionerkey", "%q is reserved and cannot be deleted", ref)
	}
	err := s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		keys, err := q.QueueDeleteKeys(ctx, organizationID, ref)
		if err != nil {
			return err
		}
		if len(keys) == 0 {
			return coder.NotFound()
		}
		for _, k := range keys {
			if err := s.audit(ctx, q, actor, coder.AuditActionDelete, k, nil); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		s.Hub.Publish(notify.ProvisionerKeys())
	}
	return err
}

func (s *Service) audit(ctx context.Context, q *sqlc.Queries, actor access.Subject, action coder.AuditAction, k sqlc.ProvisionerKey, diff coder.AuditDiff) error {
	return audit.Record(ctx, q, actor, audit.Entry{
		Action: action, ResourceType: coder.ResourceTypeProvisionerKey, ResourceID: k.ID,
		OrganizationID: k.OrganizationID, Target: k.Name, Diff: diff,
	})
}

// List lists a page of an organization's keys, without the reserved ones: those that are
// current, and after each those that it replaced and that are still good.
func (s *Service) List(ctx context.Context, actor access.Subject, organizationID uuid.UUID, page coder.Page) ([]coder.ProvisionerKey, error) {
	if err := actor.Check(coder.RBACActionRead, object(organizationID)); err != nil {
		return nil, err
	}
	rows, err := s.Store.QueueKeys(ctx, organizationID, page.Skip(), page.Rows(maxRows))
	if err != nil {
		return nil, err
	}
	out := make([]coder.ProvisionerKey, 0, len(rows))
	for _, k := range rows {
		out = append(out, view(k))
	}
	return out, nil
}

// BySecret gives the key of that secret; CodeUnauthenticated when there is
// none, or when it has expired.
func (s *Service) BySecret(ctx context.Context, secret string) (coder.ProvisionerKey, error) {
	hash := sha256.Sum256([]byte(secret))
	row, err := s.Store.QueueKeyByHash(ctx, hash[:])
	if coder.Is(err, coder.CodeNotFound) {
		return coder.ProvisionerKey{}, coder.Errorf(coder.CodeUnauthenticated, "The provisioner key is not known here: it is wrong, or it was deleted")
	}
	if err != nil {
		return coder.ProvisionerKey{}, err
	}
	k := row.ProvisionerKey
	if row.Expired {
		then := "rotate it"
		if k.ReplacedAt != nil {
			then = "use the key that replaced it"
		}
		return coder.ProvisionerKey{}, coder.Errorf(coder.CodeUnauthenticated, "The provisioner key %q expired at %s; %s", k.Name, k.ExpiresAt.UTC().Format(time.RFC3339), then)
	}
	return view(k), nil
}

func view(k sqlc.ProvisionerKey) coder.ProvisionerKey {
	return coder.ProvisionerKey{
		ID: k.ID, CreatedAt: k.CreatedAt, Name: k.Name, Organization: k.OrganizationID.String(),
		Tags:      coder.ProvisionerKeyTags(k.Tags),
		ExpiresAt: k.ExpiresAt, ReplacedAt: k.ReplacedAt, LastUsedAt: k.LastUsedAt,
	}
}
