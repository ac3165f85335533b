package template

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/archive"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// MaxUpload is the maximum size of an uploaded archive in bytes. (CP-12)
const MaxUpload = 10 << 20

// Types of archives.
const (
	TypeTar = "application/x-tar"
	TypeZip = "application/zip"
)

// UploadFile stores an archive of a template's source as a tar and returns its ID. Identical
// uploads of one user are stored once; created reports whether the upload is new. (CP-12)
func (s *Service) UploadFile(ctx context.Context, actor access.Subject, contentType string, data []byte) (id uuid.UUID, created bool, err error) {
	if err := actor.Check(codersdk.RBACActionCreate, access.Object{Type: codersdk.RBACResourceFile, OwnerID: actor.UserID}); err != nil {
		return uuid.Nil, false, err
	}
	if len(data) > MaxUpload {
		return uuid.Nil, false, codersdk.Errorf(codersdk.CodeTooLarge, "The archive is too large; at most %s are allowed", archive.Size(MaxUpload))
	}
	switch kind, _, _ := strings.Cut(contentType, ";"); strings.TrimSpace(kind) {
	case TypeTar:
		err = archive.Check(data, archive.Upload())
	case TypeZip, "application/x-zip-compressed":
		data, err = archive.FromZip(data, archive.Upload())
	default:
		err = codersdk.Errorf(codersdk.CodeInvalid, "The Content-Type %.60q is not supported; use %s or %s", contentType, TypeTar, TypeZip)
	}
	if err != nil {
		return uuid.Nil, false, err
	}
	return s.keep(ctx, s.Store.Queries, actor.UserID, data)
}

// keep stores a checked tar, unless the user has stored it before.
func (s *Service) keep(ctx context.Context, q *sqlc.Queries, owner uuid.UUID, tar []byte) (uuid.UUID, bool, error) {
	sum := sha256.Sum256(tar)
	hash := hex.EncodeToString(sum[:])
	id, err := q.FileByHash(ctx, hash, owner)
	if !codersdk.Is(err, codersdk.CodeNotFound) {
		return id, false, err
	}
	fresh := uuid.New()
	id, err = q.FileInsert(ctx, sqlc.FileInsertParams{ID: fresh, Hash: hash, CreatedBy: owner, Data: tar, Now: s.now()})
	return id, id == fresh, err
}

// File returns an archive to the user who uploaded it and to users who can change a template
// that uses it: as a tar, or as a zip with format "zip".
func (s *Service) File(ctx context.Context, actor access.Subject, id uuid.UUID, format string) (data []byte, contentType string, err error) {
	if format != "" && format != "tar" && format != "zip" {
		return nil, "", codersdk.Invalid("format", "%.20q is not supported; use tar or zip", format)
	}
	if err := mayReadFile(ctx, s.Store.Queries, actor, id); err != nil {
		return nil, "", err
	}
	if data, err = s.Store.FileData(ctx, id); err != nil {
		return nil, "", err
	}
	if format != "zip" {
		return data, TypeTar, nil
	}
	data, err = archive.ToZip(data, archive.Modules())
	return data, TypeZip, err
}

func mayReadFile(ctx context.Context, q *sqlc.Queries, actor access.Subject, id uuid.UUID) error {
	owner, err := q.FileOwner(ctx, id)
	if err != nil {
		return err
	}
	if actor.Can(codersdk.RBACActionRead, access.Object{Type: codersdk.RBACResourceFile, ID: id, OwnerID: owner}) {
		return nil
	}
	uses, err := q.FileTemplates(ctx, id)
	if err != nil {
		return err
	}
	for _, u := range uses {
		o := access.Object{Type: codersdk.RBACResourceTemplate, OrganizationID: u.OrganizationID}
		if u.TemplateID != nil {
			o.ID, o.UserACL, o.GroupACL = *u.TemplateID, u.UserACL, u.GroupACL
		}
		if actor.Can(codersdk.RBACActionUpdate, o) {
			return nil
		}
	}
	return codersdk.NotFound()
}

// text returns text from a file in a form that the database accepts.
func text(b []byte, limit int) string {
	if len(b) > limit {
		b = b[:limit]
	}
	return string(bytes.ToValidUTF8(bytes.ReplaceAll(b, []byte{0}, nil), []byte("\uFFFD")))
}
