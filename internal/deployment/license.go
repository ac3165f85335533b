package deployment

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

const (
	// maxLicense is the maximum size of a license in bytes.
	maxLicense = 64 << 10
	// maxLicenses is the maximum number of stored licenses.
	maxLicenses = 100
	// neverExpires is the last second of the year 9999, in Unix seconds.
	neverExpires int64 = 253402300799
	// licenseExpires is the claim that clients read as the expiry of a license.
	licenseExpires = "license_expires"
)

// Licenses returns the uploaded licenses, oldest first. No feature depends on a
// license. (LIC-01)
func (s *Service) Licenses(ctx context.Context, actor access.Subject) ([]codersdk.License, error) {
	if err := Check(actor, codersdk.RBACActionRead, codersdk.RBACResourceLicense); err != nil {
		return nil, err
	}
	rows, err := s.c.Store.SiteLicenses(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]codersdk.License, 0, len(rows))
	for _, r := range rows {
		out = append(out, codersdk.License{ID: r.ID, UUID: r.UUID, UploadedAt: r.UploadedAt, Claims: json.RawMessage(r.Claims)})
	}
	return out, nil
}

// AddLicense stores the claims of a license and a digest of its text, never the text itself. The
// signature is not verified, because licenses unlock nothing. For a text that was uploaded before
// the error is CodeConflict.
func (s *Service) AddLicense(ctx context.Context, actor access.Subject, in codersdk.AddLicenseRequest) (codersdk.License, error) {
	var out codersdk.License
	if err := Check(actor, codersdk.RBACActionCreate, codersdk.RBACResourceLicense); err != nil {
		return out, err
	}
	text := strings.TrimSpace(in.License)
	switch {
	case text == "":
		return out, codersdk.Invalid("license", "is required")
	case len(text) > maxLicense:
		return out, codersdk.Invalid("license", "must be at most %d bytes, got %d", maxLicense, len(text))
	}
	digest := sha256.Sum256([]byte(text))
	out = codersdk.License{UUID: uuid.New(), UploadedAt: s.c.Now().UTC(), Claims: licenseClaims(text)}
	err := s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		if err := q.SiteLicensesLock(ctx); err != nil {
			return err
		}
		all, err := q.SiteLicenses(ctx)
		if err != nil {
			return err
		}
		if len(all) >= maxLicenses {
			return codersdk.Errorf(codersdk.CodeConflict, "There are %d licenses, which is the maximum. No feature requires a license; delete some first", maxLicenses)
		}
		out.ID, err = q.SiteInsertLicense(ctx, sqlc.SiteInsertLicenseParams{
			UUID: out.UUID, UploadedAt: out.UploadedAt, Digest: digest[:], Claims: string(out.Claims),
		})
		if codersdk.Is(err, codersdk.CodeNotFound) {
			return codersdk.Errorf(codersdk.CodeConflict, "The license already exists")
		}
		if err != nil {
			return err
		}
		return audit.Record(ctx, q, actor, licenseEntry(codersdk.AuditActionCreate, out.ID, out.UUID))
	})
	return out, err
}

// DeleteLicense deletes a license by ID. Nothing changes for users.
func (s *Service) DeleteLicense(ctx context.Context, actor access.Subject, id int32) error {
	if err := Check(actor, codersdk.RBACActionDelete, codersdk.RBACResourceLicense); err != nil {
		return err
	}
	return s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		deleted, err := q.SiteDeleteLicense(ctx, id)
		if codersdk.Is(err, codersdk.CodeNotFound) {
			return codersdk.Errorf(codersdk.CodeNotFound, "License %d not found", id)
		}
		if err != nil {
			return err
		}
		return audit.Record(ctx, q, actor, licenseEntry(codersdk.AuditActionDelete, id, deleted))
	})
}

func licenseEntry(action codersdk.AuditAction, id int32, resource uuid.UUID) audit.Entry {
	return audit.Entry{Action: action, ResourceType: codersdk.ResourceTypeLicense, ResourceID: resource, Target: strconv.Itoa(int(id))}
}

// licenseClaims returns the claims of a license that is a JWT, and for other texts only the claims
// that clients require. Clients fail without a number in license_expires; if it is missing, it is
// set to exp or to the end of the year 9999.
func licenseClaims(text string) json.RawMessage {
	claims := map[string]any{}
	if parts := strings.Split(text, "."); len(parts) == 3 {
		if b, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "=")); err == nil {
			dec := json.NewDecoder(bytes.NewReader(b))
			dec.UseNumber()
			if dec.Decode(&claims) != nil || claims == nil {
				claims = map[string]any{}
			}
		}
	}
	if !isNumber(claims[licenseExpires]) {
		claims[licenseExpires] = neverExpires
		if isNumber(claims["exp"]) {
			claims[licenseExpires] = claims["exp"]
		}
	}
	b, err := json.Marshal(claims)
	if err != nil { // decoded JSON can always be encoded
		return json.RawMessage(`{}`)
	}
	return b
}

// isNumber reports whether a claim is a number of seconds that fits 64 bits.
func isNumber(v any) bool {
	n, ok := v.(json.Number)
	if !ok {
		return false
	}
	_, err := n.Int64()
	return err == nil
}
