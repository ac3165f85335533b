package queue

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// daemonsOf is what access is asked about for daemons and keys of an organization.
func daemonsOf(organizationID uuid.UUID) access.Object {
	return access.Object{Type: coder.RBACResourceProvisionerDaemon, OrganizationID: organizationID}
}

// CreateKey makes a key and gives its secret, which is shown this once and
// stored as its SHA-256 only. (PRV-05, PRV-09)
func (s *Service) CreateKey(ctx context.Context, actor access.Subject, organizationID uuid.UUID, req coder.CreateProvisionerKeyRequest) (string, error) {
	if err := actor.Check(coder.RBACActionCreate, daemonsOf(organizationID)); err != nil {
		return "", err
	}
	if err := coder.CheckName("name", req.Name); err != nil {
		return "", err
	}
	if coder.ReservedProvisionerKey(req.Name) != uuid.Nil {
		return "", coder.Invalid("name", "%q is reserved", req.Name)
	}
	if err := coder.CheckTags("tags", req.Tags); err != nil {
		return "", err
	}
	for _, k := range []string{coder.TagScope, coder.TagOwner} {
		if _, ok := req.Tags[k]; ok {
			return "", coder.Invalid("tags", "the tag %q is set by the server", k)
		}
	}
	var b [32]byte
	rand.Read(b[:]) //nolint:errcheck // documented never to fail
	secret := base64.RawURLEncoding.EncodeToString(b[:])
	hash := sha256.Sum256([]byte(secret))
	tags := coder.Tags(req.Tags)
	if tags == nil {
		tags = coder.Tags{}
	}
	err := s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		k, err := q.QueueAddKey(ctx, sqlc.QueueAddKeyParams{ID: uuid.New(), OrganizationID: organizationID, Name: req.Name, SecretHash: hash[:], Tags: tags})
		if coder.Is(err, coder.CodeConflict) {
			return coder.Errorf(coder.CodeConflict, "A provisioner key named %q exists already", req.Name)
		}
		if err != nil {
			return err
		}
		return s.auditKey(ctx, q, actor, coder.AuditActionCreate, k)
	})
	if err != nil {
		return "", err
	}
	return secret, nil
}

// DeleteKey deletes a key by name. Daemons that came with it stay connected
// until they next have to connect.
func (s *Service) DeleteKey(ctx context.Context, actor access.Subject, organizationID uuid.UUID, name string) error {
	if err := actor.Check(coder.RBACActionDelete, daemonsOf(organizationID)); err != nil {
		return err
	}
	if coder.ReservedProvisionerKey(name) != uuid.Nil {
		return coder.Invalid("provisionerkey", "%q is reserved and cannot be deleted", name)
	}
	return s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		k, err := q.QueueDeleteKey(ctx, organizationID, name)
		if err != nil {
			return err
		}
		return s.auditKey(ctx, q, actor, coder.AuditActionDelete, k)
	})
}

func (s *Service) auditKey(ctx context.Context, q *sqlc.Queries, actor access.Subject, action coder.AuditAction, k sqlc.ProvisionerKey) error {
	return audit.Record(ctx, q, actor, audit.Entry{
		Action: action, ResourceType: coder.ResourceTypeProvisionerKey, ResourceID: k.ID,
		OrganizationID: k.OrganizationID, Target: k.Name,
	})
}

// Keys lists an organization's keys, without the reserved ones.
func (s *Service) Keys(ctx context.Context, actor access.Subject, organizationID uuid.UUID) ([]coder.ProvisionerKey, error) {
	if err := actor.Check(coder.RBACActionRead, daemonsOf(organizationID)); err != nil {
		return nil, err
	}
	rows, err := s.Store.QueueKeys(ctx, organizationID)
	if err != nil {
		return nil, err
	}
	out := make([]coder.ProvisionerKey, 0, len(rows))
	for _, k := range rows {
		out = append(out, keyView(k))
	}
	return out, nil
}

// KeyBySecret gives the key of that secret; CodeUnauthenticated when there is none.
func (s *Service) KeyBySecret(ctx context.Context, secret string) (coder.ProvisionerKey, error) {
	hash := sha256.Sum256([]byte(secret))
	k, err := s.Store.QueueKeyByHash(ctx, hash[:])
	if coder.Is(err, coder.CodeNotFound) {
		return coder.ProvisionerKey{}, coder.Errorf(coder.CodeUnauthenticated, "The provisioner key is not known here: it is wrong, or it was deleted")
	}
	if err != nil {
		return coder.ProvisionerKey{}, err
	}
	return keyView(k), nil
}

// KeyDaemons groups the daemons that are there by the key they came with:
// every key of the organization, and the reserved ones that have daemons.
func (s *Service) KeyDaemons(ctx context.Context, actor access.Subject, organizationID uuid.UUID) ([]coder.ProvisionerKeyDaemons, error) {
	keys, err := s.Keys(ctx, actor, organizationID)
	if err != nil {
		return nil, err
	}
	daemons, err := s.Daemons(ctx, actor, organizationID, DaemonFilter{})
	if err != nil {
		return nil, err
	}
	by := map[uuid.UUID][]coder.ProvisionerDaemon{}
	for _, d := range daemons {
		if d.Status != coder.ProvisionerDaemonStatusOffline {
			by[d.KeyID] = append(by[d.KeyID], d)
		}
	}
	out := []coder.ProvisionerKeyDaemons{}
	for _, name := range []string{coder.ProvisionerKeyBuiltIn, coder.ProvisionerKeyUserAuth, coder.ProvisionerKeyPSK} {
		id := coder.ReservedProvisionerKey(name)
		if len(by[id]) > 0 {
			k := coder.ProvisionerKey{ID: id, Name: name, Organization: organizationID.String(), Tags: coder.ProvisionerKeyTags{}}
			out = append(out, coder.ProvisionerKeyDaemons{Key: k, Daemons: by[id]})
		}
	}
	for _, k := range keys {
		list := by[k.ID]
		if list == nil {
			list = []coder.ProvisionerDaemon{}
		}
		out = append(out, coder.ProvisionerKeyDaemons{Key: k, Daemons: list})
	}
	return out, nil
}

func keyView(k sqlc.ProvisionerKey) coder.ProvisionerKey {
	return coder.ProvisionerKey{
		ID: k.ID, CreatedAt: k.CreatedAt, Name: k.Name, Organization: k.OrganizationID.String(),
		Tags: coder.ProvisionerKeyTags(k.Tags),
	}
}

// SaveModuleFiles keeps what a daemon uploaded about a job it holds, so that
// the job's handler finds it by SHA-256 under the job's initiator.
func (s *Service) SaveModuleFiles(ctx context.Context, w Worker, jobID uuid.UUID, fence int64, data []byte) error {
	sum := sha256.Sum256(data)
	return s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		row, _, err := s.held(ctx, q, w, jobID.String(), fence)
		if err != nil {
			return err
		}
		_, err = q.FileInsert(ctx, sqlc.FileInsertParams{ID: uuid.New(), Hash: fmt.Sprintf("%x", sum), CreatedBy: row.InitiatorID, Data: data, Now: row.UpdatedAt})
		return err
	})
}

// ModuleFiles gives the prepared modules that a template version of the
// worker's organization has under that file id.
func (s *Service) ModuleFiles(ctx context.Context, w Worker, fileID uuid.UUID) ([]byte, error) {
	return s.Store.QueueModuleFiles(ctx, fileID, w.OrganizationID)
}
