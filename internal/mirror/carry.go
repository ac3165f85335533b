package mirror

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/rule/providermirror"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/registry"
)

// manifestFile is the first file of an export. The other files have the layout of a packed filesystem mirror
// of Terraform: hostname/namespace/type/archive.
const manifestFile = "manifest.json"

// Bounds of an import.
const (
	maxManifest = 16 << 20 // bytes
	maxCarried  = 10000    // archives
)

// manifest lists the archives of an export.
type manifest struct {
	Packages []carried `json:"packages"`
}

// carried is an archive of an export.
type carried struct {
	providermirror.Package
	// Checksums and Signature are those of the release, for archives of Terraform itself.
	Checksums []byte `json:"checksums,omitempty"`
	Signature []byte `json:"signature,omitempty"`
	Published bool   `json:"published,omitempty"` // a module that an administrator published
}

// Export writes all stored archives as a tar. Every archive is checked before it is written; the tar ends
// early, without the end that tar requires, after an error.
func (s *Service) Export(ctx context.Context, actor access.Subject, w io.Writer) error {
	rows, err := s.exported(ctx, actor)
	if err != nil {
		return err
	}
	list := manifest{Packages: []carried{}}
	for _, r := range rows {
		list.Packages = append(list.Packages, carried{view(r), r.Checksums, r.Signature, r.Published})
	}
	text, err := json.MarshalIndent(list, "", " ")
	if err != nil {
		return err
	}
	t := tar.NewWriter(w)
	err = t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: manifestFile, Mode: 0o644, Size: int64(len(text))})
	if err == nil {
		_, err = t.Write(text)
	}
	for _, r := range rows {
		if err != nil {
			return err
		}
		err = t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: place(target(r)), Mode: 0o644, Size: r.Size, ModTime: r.CreatedAt})
		if err == nil {
			err = readChunks(ctx, s.Store.Queries, r, t)
		}
	}
	if err != nil {
		return err
	}
	return t.Close()
}

// exported returns the rows of an export.
func (s *Service) exported(ctx context.Context, actor access.Subject) ([]sqlc.MirrorPackage, error) {
	if err := mayManage(actor, codersdk.RBACActionRead); err != nil {
		return nil, err
	}
	rows, err := s.Store.MirrorPage(ctx, 0, maxCarried)
	if err == nil && len(rows) == 0 {
		err = codersdk.Errorf(codersdk.CodeNotFound, "The mirror stores nothing; run 'coder mirror pull' first")
	}
	return rows, err
}

// place returns the path of an archive in an export.
func place(t providermirror.Target) string {
	return path.Join(t.Hostname, t.Namespace, t.Type, t.Filename())
}

// Import stores the archives of an export. An archive whose checksum is not that of the manifest, or not that
// of the same archive in the mirror, is refused with all that follow it; those before it stay stored.
func (s *Service) Import(ctx context.Context, actor access.Subject, r io.Reader) (providermirror.Imported, error) {
	out := providermirror.Imported{Stored: []providermirror.Package{}}
	if err := mayManage(actor, codersdk.RBACActionUpdate); err != nil {
		return out, err
	}
	if err := s.enabled(); err != nil {
		return out, err
	}
	t := tar.NewReader(r)
	left, err := readManifest(t)
	if err != nil {
		return out, err
	}
	for len(left) > 0 {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return out, codersdk.Errorf(codersdk.CodeInvalid, "The archive ends before its last package; copy it again")
		}
		if err != nil {
			return out, broken(err)
		}
		p, ok := left[h.Name]
		if !ok || h.Typeflag != tar.TypeReg || h.Size != p.Size {
			return out, codersdk.Errorf(codersdk.CodeInvalid, "The archive contains %.200q, which its manifest does not describe", h.Name)
		}
		delete(left, h.Name)
		row, stored, err := s.importOne(ctx, p, t)
		if err != nil {
			return out, err
		}
		if stored {
			out.Stored = append(out.Stored, view(row))
		} else {
			out.Known++
		}
	}
	return out, nil
}

// broken returns the error of an archive that cannot be read.
func broken(err error) error {
	return codersdk.Errorf(codersdk.CodeInvalid, "The archive cannot be read; create it with 'coder mirror export'").WithCause(err)
}

// readManifest returns the archives of an export by path.
func readManifest(t *tar.Reader) (map[string]carried, error) {
	h, err := t.Next()
	if err != nil || h.Name != manifestFile || h.Size > maxManifest {
		return nil, broken(err)
	}
	text, err := io.ReadAll(io.LimitReader(t, maxManifest))
	if err != nil {
		return nil, broken(err)
	}
	var list manifest
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, broken(err)
	}
	if len(list.Packages) > maxCarried {
		return nil, codersdk.Errorf(codersdk.CodeTooLarge, "The archive has more than %d packages", maxCarried)
	}
	out := map[string]carried{}
	for _, p := range list.Packages {
		if err := p.Target.Check(); err != nil {
			return nil, err
		}
		out[place(p.Target)] = p
	}
	return out, nil
}

// importOne stores one archive of an export.
func (s *Service) importOne(ctx context.Context, p carried, r io.Reader) (row sqlc.MirrorPackage, stored bool, err error) {
	if p.Size > s.MaxBytes {
		return row, false, codersdk.Errorf(codersdk.CodeTooLarge, "%s has %d bytes, and the mirror stores %d; raise --mirror-max-bytes", p.Target, p.Size, s.MaxBytes)
	}
	want, err := hex.DecodeString(p.SHA256)
	if err != nil || len(want) != sha256.Size {
		return row, false, codersdk.Errorf(codersdk.CodeInvalid, "The manifest has no SHA-256 of %s", p.Target)
	}
	f, err := s.temporary()
	if err != nil {
		return row, false, err
	}
	defer f.close()
	h := sha256.New()
	if _, err := io.Copy(io.MultiWriter(f, h), r); err != nil {
		return row, false, fmt.Errorf("import %s: %w", p.Target, broken(err))
	}
	if got := h.Sum(nil); !bytes.Equal(got, want) {
		return row, false, refused(p.Target, fmt.Sprintf("its SHA-256 is %x, but the manifest states %x", got, want))
	}
	row, stored, err = s.keep(ctx, p.Target, f, registry.Archive{
		Size: p.Size, SHA256: want, Release: providermirror.Release{Checksums: p.Checksums, Signature: p.Signature},
		Published: p.Published && p.Kind() == providermirror.KindModule,
	})
	if err == nil && stored {
		s.Log.Info("imported an archive", "archive", p.Target.String(), "bytes", p.Size)
	}
	return row, stored, err
}
