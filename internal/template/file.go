package template

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/archive"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// MaxUpload bounds an uploaded archive, in bytes. (CP-12)
const MaxUpload = 10 << 20

// Types of archives.
const (
	TypeTar = "application/x-tar"
	TypeZip = "application/zip"
)

// UploadFile keeps an archive of a template's source, as a tar whatever it
// came as, and gives its id. The same files of the same person are kept once;
// created says whether they are new. (CP-12)
func (s *Service) UploadFile(ctx context.Context, actor access.Subject, contentType string, data []byte) (id uuid.UUID, created bool, err error) {
	if err := actor.Check(coder.RBACActionCreate, access.Object{Type: coder.RBACResourceFile, OwnerID: actor.UserID}); err != nil {
		return uuid.Nil, false, err
	}
	if len(data) > MaxUpload {
		return uuid.Nil, false, coder.Errorf(coder.CodeTooLarge, "The archive is too large: at most %s are taken", archive.Size(MaxUpload))
	}
	switch kind, _, _ := strings.Cut(contentType, ";"); strings.TrimSpace(kind) {
	case TypeTar:
		err = archive.Check(data, archive.Upload())
	case TypeZip, "application/x-zip-compressed":
		data, err = archive.FromZip(data, archive.Upload())
	default:
		err = coder.Errorf(coder.CodeInvalid, "The Content-Type %.60q is not taken; send %s or %s", contentType, TypeTar, TypeZip)
	}
	if err != nil {
		return uuid.Nil, false, err
	}
	return s.keep(ctx, s.Store.Queries, actor.UserID, data)
}

// keep stores a tar that was checked, unless the person has stored it before.
func (s *Service) keep(ctx context.Context, q *sqlc.Queries, owner uuid.UUID, tar []byte) (uuid.UUID, bool, error) {
	sum := sha256.Sum256(tar)
	hash := hex.EncodeToString(sum[:])
	id, err := q.FileByHash(ctx, hash, owner)
	if !coder.Is(err, coder.CodeNotFound) {
		return id, false, err
	}
	fresh := uuid.New()
	id, err = q.FileInsert(ctx, sqlc.FileInsertParams{ID: fresh, Hash: hash, CreatedBy: owner, Data: tar, Now: s.now()})
	return id, id == fresh, err
}

// File gives an archive back to who uploaded it or may change a template that
// was made from it: as a tar, or with format "zip" as that.
func (s *Service) File(ctx context.Context, actor access.Subject, id uuid.UUID, format string) (data []byte, contentType string, err error) {
	if format != "" && format != "tar" && format != "zip" {
		return nil, "", coder.Invalid("format", "%.20q is neither tar nor zip", format)
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
	if actor.Can(coder.RBACActionRead, access.Object{Type: coder.RBACResourceFile, ID: id, OwnerID: owner}) {
		return nil
	}
	uses, err := q.FileTemplates(ctx, id)
	if err != nil {
		return err
	}
	for _, u := range uses {
		o := access.Object{Type: coder.RBACResourceTemplate, OrganizationID: u.OrganizationID}
		if u.TemplateID != nil {
			o.ID, o.UserACL, o.GroupACL = *u.TemplateID, u.UserACL, u.GroupACL
		}
		if actor.Can(coder.RBACActionUpdate, o) {
			return nil
		}
	}
	return coder.NotFound()
}

// text makes a text of what a provisioner read from a file, fit for the database.
func text(b []byte, limit int) string {
	if len(b) > limit {
		b = b[:limit]
	}
	return string(bytes.ToValidUTF8(bytes.ReplaceAll(b, []byte{0}, nil), []byte("\uFFFD")))
}
