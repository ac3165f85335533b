package keyring

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"maps"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// object is the access object of the keys of an organization.
func object(organizationID uuid.UUID) access.Object {
	return access.Object{Type: codersdk.RBACResourceProvisionerDaemon, OrganizationID: organizationID}
}

// maxReplaced is the maximum number of valid replaced keys with one name.
const maxReplaced = 10

// maxRows is the largest page of keys.
const maxRows = 1000

// Create creates a key and returns it with its secret, once. Only the SHA-256 of the secret is stored. (PRV-05,
// PRV-09)
func (s *Service) Create(
	ctx context.Context,
	actor access.Subject,
	organizationID uuid.UUID,
	req codersdk.CreateProvisionerKeyRequest,
) (codersdk.CreateProvisionerKeyResponse, error) {
	var out codersdk.CreateProvisionerKeyResponse
	if err := actor.Check(codersdk.RBACActionCreate, object(organizationID)); err != nil {
		return out, err
	}
	if err := codersdk.CheckName("name", req.Name); err != nil {
		return out, err
	}
	if codersdk.ReservedProvisionerKey(req.Name) != uuid.Nil {
		return out, codersdk.Invalid("name", "%q is reserved", req.Name)
	}
	if err := checkSeconds("expires_in_seconds", req.ExpiresInSeconds); err != nil {
		return out, err
	}
	tags, err := checkTags(req.Tags)
	if err != nil {
		return out, err
	}
	secret, add := newSecret(sqlc.QueueAddKeyParams{OrganizationID: organizationID, Name: req.Name, Tags: tags, LifetimeS: req.ExpiresInSeconds})
	err = s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		k, err := q.QueueAddKey(ctx, add)
		if codersdk.Is(err, codersdk.CodeConflict) {
			return codersdk.Errorf(codersdk.CodeConflict, "A provisioner key named %q already exists; rotate it to get a new secret", req.Name)
		}
		if err != nil {
			return err
		}
		created := view(k)
		out = codersdk.CreateProvisionerKeyResponse{Key: secret, ProvisionerKey: &created}
		return s.audit(ctx, q, actor, codersdk.AuditActionCreate, k, nil)
	})
	if err != nil {
		return codersdk.CreateProvisionerKeyResponse{}, err
	}
	return out, nil
}

// checkTags returns the checked tags of a key, never nil.
func checkTags(in map[string]string) (codersdk.Tags, error) {
	if err := codersdk.CheckTags("tags", in); err != nil {
		return nil, err
	}
	for _, k := range []string{codersdk.TagScope, codersdk.TagOwner} {
		if _, ok := in[k]; ok {
			return nil, codersdk.Invalid("tags", "the tag %q is reserved for the server", k)
		}
	}
	if in == nil {
		return codersdk.Tags{}, nil
	}
	return in, nil
}

func checkSeconds(field string, n int64) error {
	if n < 0 || n > codersdk.MaxProvisionerKeySeconds {
		return codersdk.Invalid(field, "must be between 0 and %d seconds (ten years)", codersdk.MaxProvisionerKeySeconds)
	}
	return nil
}

// newSecret adds an ID and the hash of a new secret to a row.
func newSecret(p sqlc.QueueAddKeyParams) (string, sqlc.QueueAddKeyParams) {
	var b [32]byte
	rand.Read(b[:]) //nolint:errcheck // documented never to fail
	secret := base64.RawURLEncoding.EncodeToString(b[:])
	hash := sha256.Sum256([]byte(secret))
	p.ID, p.SecretHash = uuid.New(), hash[:]
	return secret, p
}

// Rotate replaces the current key of a name by a new key, with its tags or the requested ones. The old
// key stays valid for the grace period. Without one it is deleted, and the provisioners that use it are
// disconnected.
func (s *Service) Rotate(
	ctx context.Context,
	actor access.Subject,
	organizationID uuid.UUID,
	ref string,
	req codersdk.RotateProvisionerKeyRequest,
) (codersdk.RotateProvisionerKeyResponse, error) {
	var out codersdk.RotateProvisionerKeyResponse
	if err := actor.Check(codersdk.RBACActionUpdate, object(organizationID)); err != nil {
		return out, err
	}
	if codersdk.ReservedProvisionerKey(ref) != uuid.Nil {
		return out, codersdk.Invalid("provisionerkey", "%q is reserved and cannot be rotated", ref)
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
			return codersdk.Errorf(
				codersdk.CodeConflict,
				"%d older keys named %q are still valid; delete some by ID, or rotate without a grace period",
				row.Replaced,
				old.Name,
			)
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
		out = codersdk.RotateProvisionerKeyResponse{Key: secret, ExpiresAt: k.ExpiresAt, OldExpiresAt: cmp.Or(ended, k.CreatedAt)}
		diff := codersdk.AuditDiff{
			"secret":     {Secret: true},
			"id":         {Old: old.ID, New: k.ID},
			"expires_at": {Old: old.ExpiresAt, New: k.ExpiresAt},
		}
		if !maps.Equal(old.Tags, k.Tags) {
			diff["tags"] = codersdk.AuditDiffField{Old: old.Tags, New: k.Tags}
		}
		return s.audit(ctx, q, actor, codersdk.AuditActionWrite, k, diff)
	})
	if err != nil {
		return codersdk.RotateProvisionerKeyResponse{}, err
	}
	s.Hub.Publish(notify.ProvisionerKeys())
	return out, nil
}

// retire limits a key to the grace period and returns its expiry. Without a period it deletes the key.
func (s *Service) retire(ctx context.Context, q *sqlc.Queries, old sqlc.ProvisionerKey, grace int64) (time.Time, error) {
	if grace == 0 {
		_, err := q.QueueDeleteKeys(ctx, old.OrganizationID, old.ID.String())
		return time.Time{}, err
	}
	k, err := q.QueueReplaceKey(ctx, grace, old.ID)
	if err != nil {
		return time.Time{}, err
	}
	return *k.ExpiresAt, nil
}

// Delete deletes all keys with a name, or the key with an ID. The provisioners that use them are
// disconnected; see Hold.
func (s *Service) Delete(ctx context.Context, actor access.Subject, organizationID uuid.UUID, ref string) error {
	if err := actor.Check(codersdk.RBACActionDelete, object(organizationID)); err != nil {
		return err
	}
	if codersdk.ReservedProvisionerKey(ref) != uuid.Nil {
		return codersdk.Invalid("provisionerkey", "%q is reserved and cannot be deleted", ref)
	}
	err := s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		keys, err := q.QueueDeleteKeys(ctx, organizationID, ref)
		if err != nil {
			return err
		}
		if len(keys) == 0 {
			return codersdk.NotFound()
		}
		for _, k := range keys {
			if err := s.audit(ctx, q, actor, codersdk.AuditActionDelete, k, nil); err != nil {
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

func (s *Service) audit(
	ctx context.Context,
	q *sqlc.Queries,
	actor access.Subject,
	action codersdk.AuditAction,
	k sqlc.ProvisionerKey,
	diff codersdk.AuditDiff,
) error {
	return audit.Record(ctx, q, actor, audit.Entry{
		Action: action, ResourceType: codersdk.ResourceTypeProvisionerKey, ResourceID: k.ID,
		OrganizationID: k.OrganizationID, Target: k.Name, Diff: diff,
	})
}

// List lists a page of an organization's keys, without the reserved ones: the current keys, and after each
// the replaced keys that are still valid.
func (s *Service) List(ctx context.Context, actor access.Subject, organizationID uuid.UUID, page codersdk.Page) ([]codersdk.ProvisionerKey, error) {
	if err := actor.Check(codersdk.RBACActionRead, object(organizationID)); err != nil {
		return nil, err
	}
	rows, err := s.Store.QueueKeys(ctx, organizationID, page.Skip(), page.Rows(maxRows))
	if err != nil {
		return nil, err
	}
	out := make([]codersdk.ProvisionerKey, 0, len(rows))
	for _, k := range rows {
		out = append(out, view(k))
	}
	return out, nil
}

// BySecret returns the key with that secret. The error is CodeUnauthenticated if there is none, or if it
// has expired.
func (s *Service) BySecret(ctx context.Context, secret string) (codersdk.ProvisionerKey, error) {
	hash := sha256.Sum256([]byte(secret))
	row, err := s.Store.QueueKeyByHash(ctx, hash[:])
	if codersdk.Is(err, codersdk.CodeNotFound) {
		return codersdk.ProvisionerKey{}, codersdk.Errorf(codersdk.CodeUnauthenticated, "The provisioner key is not valid: it is wrong or was deleted")
	}
	if err != nil {
		return codersdk.ProvisionerKey{}, err
	}
	k := row.ProvisionerKey
	if row.Expired {
		then := "rotate it"
		if k.ReplacedAt != nil {
			then = "use the key that replaced it"
		}
		return codersdk.ProvisionerKey{}, codersdk.Errorf(
			codersdk.CodeUnauthenticated,
			"The provisioner key %q expired at %s; %s",
			k.Name,
			k.ExpiresAt.UTC().Format(time.RFC3339),
			then,
		)
	}
	return view(k), nil
}

func view(k sqlc.ProvisionerKey) codersdk.ProvisionerKey {
	return codersdk.ProvisionerKey{
		ID: k.ID, CreatedAt: k.CreatedAt, Name: k.Name, Organization: k.OrganizationID.String(),
		Tags:      codersdk.ProvisionerKeyTags(k.Tags),
		ExpiresAt: k.ExpiresAt, ReplacedAt: k.ReplacedAt, LastUsedAt: k.LastUsedAt,
	}
}
