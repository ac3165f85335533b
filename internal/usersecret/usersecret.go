// Package usersecret keeps secrets of users: named values that each workspace of the user gets as an
// environment variable, a file, or both.
//
// A value is sealed before it is stored and opened only for agents. It is never in a response of the API,
// the audit log, an error or a log line, and Terraform does not get it, so it is in no state. A change is
// announced to the agents of the owner, which read all secrets again. A template can disable secrets; then
// its workspaces get none.
package usersecret

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/dbcrypt"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/usersecret/rule"
)

// Config configures a Service.
type Config struct {
	Store *postgres.Store
	Hub   *notify.Hub
	Vault *dbcrypt.Vault // without keys no secret can be stored
	// DisableFiles refuses secrets with a file, and keeps the files of others from workspaces.
	DisableFiles bool
	Now          func() time.Time
}

// Service keeps secrets. It is safe for concurrent use.
type Service struct{ c Config }

// New returns a Service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Service{c: c}
}

// object is the access object of a user's secret; id is uuid.Nil for all of them.
func object(user, id uuid.UUID) access.Object {
	return access.Object{Type: codersdk.RBACResourceUserSecret, ID: id, OwnerID: user}
}

func view(r sqlc.UserSecret) codersdk.UserSecret {
	return codersdk.UserSecret{
		ID: r.ID, Name: r.Name, Description: r.Description, EnvName: r.EnvName, FilePath: r.FilePath, Enabled: r.Enabled,
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}
}

// List returns the secrets of a user by name.
func (s *Service) List(ctx context.Context, actor access.Subject, user uuid.UUID) ([]codersdk.UserSecret, error) {
	rows, err := s.c.Store.UserSecretsOfUser(ctx, user)
	if err != nil {
		return nil, err
	}
	out := []codersdk.UserSecret{}
	for _, r := range rows {
		if actor.Can(codersdk.RBACActionRead, object(user, r.ID)) {
			out = append(out, view(r))
		}
	}
	if len(out) == 0 {
		return out, actor.Check(codersdk.RBACActionRead, object(user, uuid.Nil))
	}
	return out, nil
}

// Get returns a secret of a user.
func (s *Service) Get(ctx context.Context, actor access.Subject, user uuid.UUID, name string) (out codersdk.UserSecret, err error) {
	row, err := s.row(ctx, s.c.Store.Queries, actor, codersdk.RBACActionRead, user, name)
	return view(row), err
}

// row returns a secret on which the actor can do an action.
func (s *Service) row(
	ctx context.Context, q *sqlc.Queries, actor access.Subject, action codersdk.RBACAction, user uuid.UUID, name string,
) (sqlc.UserSecret, error) {
	row, err := q.UserSecretByName(ctx, user, name)
	if codersdk.Is(err, codersdk.CodeNotFound) {
		if err := actor.Check(action, object(user, uuid.Nil)); err != nil {
			return row, err
		}
		return row, codersdk.Errorf(codersdk.CodeNotFound, "There is no secret with the name %q", name[:min(len(name), rule.MaxName)])
	}
	if err != nil {
		return row, err
	}
	return row, actor.Check(action, object(user, row.ID))
}

// Create stores a new secret of a user.
func (s *Service) Create(ctx context.Context, actor access.Subject, user uuid.UUID, req codersdk.CreateUserSecretRequest) (codersdk.UserSecret, error) {
	if err := actor.Check(codersdk.RBACActionCreate, object(user, uuid.Nil)); err != nil {
		return codersdk.UserSecret{}, err
	}
	row, err := s.newRow(user, req)
	if err != nil {
		return codersdk.UserSecret{}, err
	}
	err = s.change(ctx, user, func(q *sqlc.Queries, others []sqlc.UserSecret) error { return s.insert(ctx, q, actor, others, row) })
	return view(row), err
}

// newRow checks a new secret and returns its row, with the sealed value.
func (s *Service) newRow(user uuid.UUID, req codersdk.CreateUserSecretRequest) (sqlc.UserSecret, error) {
	now := s.c.Now().UTC().Truncate(time.Microsecond)
	row := sqlc.UserSecret{
		ID: uuid.New(), UserID: user, Name: req.Name, Description: req.Description, EnvName: req.EnvName, FilePath: req.FilePath,
		Enabled: req.Enabled == nil || *req.Enabled, CreatedAt: now, UpdatedAt: now,
	}
	if err := s.checkFile(req.FilePath); err != nil {
		return row, err
	}
	return row, s.seal(&row, req.Value)
}

// checkFile returns an error for a file while the deployment allows none.
func (s *Service) checkFile(path string) error {
	if path == "" || !s.c.DisableFiles {
		return nil
	}
	return codersdk.Invalid("file_path", "is disabled in this deployment; use an environment variable")
}

// insert stores a row beside the others of its user, and its audit entry.
func (s *Service) insert(ctx context.Context, q *sqlc.Queries, actor access.Subject, others []sqlc.UserSecret, row sqlc.UserSecret) error {
	if err := checkAmong(others, row); err != nil {
		return err
	}
	if err := q.UserSecretInsert(ctx, sqlc.UserSecretInsertParams{
		ID: row.ID, UserID: row.UserID, Name: row.Name, Description: row.Description, EnvName: row.EnvName, FilePath: row.FilePath, Enabled: row.Enabled,
		Value: row.Value, ValueKeyID: row.ValueKeyID, ValueBytes: row.ValueBytes, Now: row.CreatedAt,
	}); err != nil {
		return err
	}
	return record(ctx, q, actor, codersdk.AuditActionCreate, sqlc.UserSecret{UserID: row.UserID}, row)
}

// Update changes a secret of a user.
func (s *Service) Update(
	ctx context.Context, actor access.Subject, user uuid.UUID, name string, req codersdk.UpdateUserSecretRequest,
) (out codersdk.UserSecret, err error) {
	err = s.change(ctx, user, func(q *sqlc.Queries, others []sqlc.UserSecret) error {
		before, err := s.row(ctx, q, actor, codersdk.RBACActionUpdate, user, name)
		if err != nil {
			return err
		}
		row := before
		if req.FilePath != nil {
			if err := s.checkFile(*req.FilePath); err != nil {
				return err
			}
		}
		set(&row.Description, req.Description)
		set(&row.EnvName, req.EnvName)
		set(&row.FilePath, req.FilePath)
		set(&row.Enabled, req.Enabled)
		if req.Value != nil {
			if err := s.seal(&row, *req.Value); err != nil {
				return err
			}
		} else if err := rule.Check(row, nil); err != nil {
			return err
		}
		others = slices.DeleteFunc(others, func(o sqlc.UserSecret) bool { return o.ID == row.ID })
		if err := checkAmong(others, row); err != nil {
			return err
		}
		row.UpdatedAt = s.c.Now().UTC().Truncate(time.Microsecond)
		if err := q.UserSecretUpdate(ctx, sqlc.UserSecretUpdateParams{
			ID: row.ID, Description: row.Description, EnvName: row.EnvName, FilePath: row.FilePath, Enabled: row.Enabled,
			Value: row.Value, ValueKeyID: row.ValueKeyID, ValueBytes: row.ValueBytes, UpdatedAt: row.UpdatedAt,
		}); err != nil {
			return err
		}
		out = view(row)
		return record(ctx, q, actor, codersdk.AuditActionWrite, before, row)
	})
	return out, err
}

func set[T any](to *T, value *T) {
	if value != nil {
		*to = *value
	}
}

// Delete deletes a secret of a user.
func (s *Service) Delete(ctx context.Context, actor access.Subject, user uuid.UUID, name string) error {
	return s.change(ctx, user, func(q *sqlc.Queries, _ []sqlc.UserSecret) error {
		if _, err := s.row(ctx, q, actor, codersdk.RBACActionDelete, user, name); err != nil {
			return err
		}
		row, err := q.UserSecretDelete(ctx, user, name)
		if err != nil {
			return err
		}
		return record(ctx, q, actor, codersdk.AuditActionDelete, row, sqlc.UserSecret{UserID: user})
	})
}

// seal checks a row and stores the sealed value in it.
func (s *Service) seal(row *sqlc.UserSecret, value string) (err error) {
	if err := rule.Check(*row, &value); err != nil {
		return err
	}
	row.ValueBytes = int32(len(value))
	row.Value, row.ValueKeyID, err = s.c.Vault.SealUserSecret(row.ID, value)
	return err
}

// change runs f in a transaction with the secrets of a user, which nothing else changes meanwhile, and
// notifies the user's agents.
func (s *Service) change(ctx context.Context, user uuid.UUID, f func(q *sqlc.Queries, all []sqlc.UserSecret) error) error {
	err := s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		if _, err := q.UserSecretsLock(ctx, user); err != nil {
			return err
		}
		all, err := q.UserSecretsOfUser(ctx, user)
		if err != nil {
			return err
		}
		return f(q, all)
	})
	if err == nil {
		s.c.Hub.Publish(notify.UserSecrets(user))
	}
	return err
}

// checkAmong returns an error if a secret has the name, variable or file of another one, or if all of them
// exceed a limit.
func checkAmong(others []sqlc.UserSecret, row sqlc.UserSecret) error {
	for _, o := range others {
		switch {
		case o.Name == row.Name:
			return codersdk.Errorf(codersdk.CodeConflict, "A secret named %q already exists; update it, or choose another name", row.Name)
		case row.EnvName != "" && o.EnvName == row.EnvName:
			return codersdk.Errorf(codersdk.CodeConflict, "A secret for the variable %s already exists: %q; choose another variable", row.EnvName, o.Name)
		case row.FilePath != "" && o.FilePath == row.FilePath:
			return codersdk.Errorf(codersdk.CodeConflict, "A secret for the file %s already exists: %q; choose another file", row.FilePath, o.Name)
		}
	}
	return rule.CheckLimits(append(slices.Clone(others), row))
}

// record writes the audit entry of a change. It contains no value, only whether it changed.
func record(ctx context.Context, q *sqlc.Queries, actor access.Subject, action codersdk.AuditAction, before, after sqlc.UserSecret) error {
	name := after.Name
	if name == "" {
		name = before.Name
	}
	diff := codersdk.AuditDiff{}
	field := func(key string, old, fresh any) {
		if old != fresh {
			diff["secret_"+key] = codersdk.AuditDiffField{Old: old, New: fresh}
		}
	}
	field("name", before.Name, after.Name)
	field("description", before.Description, after.Description)
	field("env_name", before.EnvName, after.EnvName)
	field("file_path", before.FilePath, after.FilePath)
	field("enabled", before.Enabled, after.Enabled)
	if before.Value != after.Value {
		diff["secret_value"] = codersdk.AuditDiffField{Old: "", New: "", Secret: true}
	}
	return audit.Record(ctx, q, actor, audit.Entry{
		Action: action, ResourceType: codersdk.ResourceTypeUser, ResourceID: after.UserID, Target: name,
		Diff: diff, Fields: map[string]any{"user_secret": name},
	})
}

// Value is a secret in clear, for an agent.
type Value struct {
	Name, EnvName, FilePath string
	Value                   string
}

// ForWorkspace returns the enabled secrets of the owner of a workspace, none if its template disables them,
// and their version. known is the version that the caller has; if it is still current, the values are nil.
func (s *Service) ForWorkspace(ctx context.Context, owner, template uuid.UUID, known []byte) (version []byte, values []Value, err error) {
	rows, err := s.c.Store.UserSecretsForWorkspaces(ctx, owner, template)
	if err != nil {
		return nil, nil, err
	}
	if s.c.DisableFiles {
		rows = withoutFiles(rows)
	}
	h := sha256.New()
	h.Write(owner[:])
	for _, r := range rows {
		fmt.Fprintf(h, "%s %q %q %q %s\n", r.ID, r.Name, r.EnvName, r.FilePath, r.Value)
	}
	if version = h.Sum(nil); slices.Equal(version, known) {
		return version, nil, nil
	}
	for _, r := range rows {
		value, err := s.c.Vault.OpenUserSecret(r.ID, r.Value, r.ValueKeyID)
		if err != nil {
			return nil, nil, err
		}
		values = append(values, Value{Name: r.Name, EnvName: r.EnvName, FilePath: r.FilePath, Value: value})
	}
	return version, values, nil
}

// withoutFiles removes the files of secrets, and secrets that have nothing else.
func withoutFiles(rows []sqlc.UserSecret) []sqlc.UserSecret {
	for i := range rows {
		rows[i].FilePath = ""
	}
	return slices.DeleteFunc(rows, func(r sqlc.UserSecret) bool { return r.EnvName == "" })
}

// TemplateChanged notifies the agents of a template's workspaces that it disabled or enabled secrets.
func (s *Service) TemplateChanged(id uuid.UUID) { s.c.Hub.Publish(notify.UserSecrets(id)) }

// Subscribe returns a channel that is signaled when the secrets that workspaces of an owner and a template
// get may have changed, and its release.
func (s *Service) Subscribe(owner, template uuid.UUID) (<-chan struct{}, func()) {
	return s.c.Hub.Subscribe(notify.UserSecrets(owner), notify.UserSecrets(template))
}
