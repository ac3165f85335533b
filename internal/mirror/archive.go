package mirror

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/google/uuid"
	"golang.org/x/mod/sumdb/dirhash"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/rule/providermirror"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/registry"
)

// chunkSize is the size of all chunks of an archive except the last, in bytes.
const chunkSize = 1 << 20

// maxUnpacked bounds the files of an archive, in bytes.
const maxUnpacked = 8 << 30

// Archive is a stored archive that was checked.
type Archive struct {
	providermirror.Package
	service *Service
	row     sqlc.MirrorPackage
}

// WriteTo writes the archive to w. After an error w lacks at least the last byte, so that readers that know
// the size notice it.
func (a *Archive) WriteTo(ctx context.Context, w io.Writer) error {
	return readChunks(ctx, a.service.Store.Queries, a.row, w)
}

// readChunks writes a stored archive to w. It checks the checksum before it writes the last chunk.
func readChunks(ctx context.Context, q *sqlc.Queries, r sqlc.MirrorPackage, w io.Writer) error {
	h := sha256.New()
	last := int32((r.Size - 1) / chunkSize)
	for i := int32(0); i <= last; i++ {
		data, err := q.MirrorChunk(ctx, r.ID, i)
		if codersdk.Is(err, codersdk.CodeNotFound) {
			return refused(target(r), "a part of the stored archive is missing; pull or import it again")
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", target(r), err)
		}
		h.Write(data)
		if got := h.Sum(nil); i == last && !bytes.Equal(got, r.Sha256) {
			return refused(target(r), fmt.Sprintf("the SHA-256 of the stored archive is %x instead of %x; pull or import it again", got, r.Sha256))
		}
		if _, err := w.Write(data); err != nil {
			return err
		}
	}
	return nil
}

// errOtherFiles is the error of an archive that is not the stored one.
var errOtherFiles = errors.New("the stored archive has other files")

// keep stores a checked archive and removes others beyond MaxBytes. A stored archive with the same checksum
// is replaced only if it is damaged; one with another checksum is not replaced. It reports whether
// the archive was stored.
func (s *Service) keep(ctx context.Context, t providermirror.Target, f io.ReaderAt, a registry.Archive) (row sqlc.MirrorPackage, stored bool, err error) {
	if a.Size > s.MaxBytes || a.Size == 0 {
		return row, false, codersdk.Errorf(codersdk.CodeTooLarge, "%s has %d bytes, and the mirror stores %d; raise --mirror-max-bytes", t, a.Size, s.MaxBytes)
	}
	if err := checkRelease(t, a); err != nil {
		return row, false, err
	}
	h1 := ""
	if t.Kind() != providermirror.KindProgram { // lock files name no programs
		if h1, err = hashFiles(f, a.Size); err != nil {
			return row, false, refused(t, err.Error())
		}
	}
	err = s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		stored = false
		if err := q.MirrorLock(ctx); err != nil {
			return err
		}
		row, err = q.MirrorPackage(ctx, key(t))
		switch {
		case err == nil && !bytes.Equal(row.Sha256, a.SHA256):
			return refused(t, fmt.Sprintf("its SHA-256 is %x, but the mirror has stored it with %x", a.SHA256, row.Sha256)).WithCause(errOtherFiles)
		case err == nil && readChunks(ctx, q, row, io.Discard) == nil:
			if a.Published && !row.Published {
				return q.MirrorSetPublished(ctx, row.ID)
			}
			return nil
		case err == nil:
			err = q.MirrorDelete(ctx, row.ID)
		case codersdk.Is(err, codersdk.CodeNotFound):
			err = nil
		}
		if err != nil {
			return err
		}
		stored = true
		if err := insert(ctx, q, t, f, a, h1); err != nil {
			return err
		}
		if row, err = q.MirrorPackage(ctx, key(t)); err != nil {
			return err
		}
		return s.shrink(ctx, q, row.ID)
	})
	return row, stored, err
}

func key(t providermirror.Target) sqlc.MirrorPackageParams {
	return sqlc.MirrorPackageParams{Hostname: t.Hostname, Namespace: t.Namespace, Type: t.Type, Version: t.Version, Os: t.OS, Arch: t.Arch}
}

// insert writes a package and its chunks.
func insert(ctx context.Context, q *sqlc.Queries, t providermirror.Target, f io.ReaderAt, a registry.Archive, h1 string) error {
	id := uuid.New()
	err := q.MirrorInsert(ctx, sqlc.MirrorInsertParams{
		ID: id, Hostname: t.Hostname, Namespace: t.Namespace, Type: t.Type, Version: t.Version, Os: t.OS, Arch: t.Arch,
		Size: a.Size, Sha256: a.SHA256, H1: h1, SignedBy: a.SignedBy,
		Checksums: append([]byte{}, a.Release.Checksums...), Signature: append([]byte{}, a.Release.Signature...), Published: a.Published,
	})
	buf := make([]byte, chunkSize)
	for i := int64(0); err == nil && i*chunkSize < a.Size; i++ {
		n := min(chunkSize, a.Size-i*chunkSize)
		if _, err = f.ReadAt(buf[:n], i*chunkSize); err == nil || errors.Is(err, io.EOF) {
			err = q.MirrorInsertChunk(ctx, id, int32(i), buf[:n])
		}
	}
	return err
}

// shrink removes the archives that were used least recently, except one and published modules, until the rest fits.
func (s *Service) shrink(ctx context.Context, q *sqlc.Queries, except uuid.UUID) error {
	total, err := q.MirrorTotal(ctx)
	for err == nil && total.Bytes > s.MaxBytes {
		var oldest sqlc.MirrorOldestRow
		if oldest, err = q.MirrorOldest(ctx, except); codersdk.Is(err, codersdk.CodeNotFound) {
			return codersdk.Errorf(codersdk.CodeTooLarge, "The published modules fill the mirror, which stores %d bytes; raise --mirror-max-bytes", s.MaxBytes)
		}
		if err != nil {
			break
		}
		total.Bytes -= oldest.Size
		err = q.MirrorDelete(ctx, oldest.ID)
	}
	return err
}

// hashFiles returns the hash of the files in an archive in the form of lock files.
func hashFiles(f io.ReaderAt, size int64) (string, error) {
	z, err := zip.NewReader(f, size)
	if err != nil {
		return "", fmt.Errorf("it is not a zip archive: %w", err)
	}
	files := map[string]*zip.File{}
	var names []string
	var unpacked uint64
	for _, entry := range z.File {
		if unpacked += entry.UncompressedSize64; unpacked > maxUnpacked || entry.UncompressedSize64 > maxUnpacked {
			return "", fmt.Errorf("its files are larger than %d bytes", int64(maxUnpacked))
		}
		files[entry.Name] = entry
		names = append(names, entry.Name)
	}
	return dirhash.Hash1(names, func(name string) (io.ReadCloser, error) { return files[name].Open() })
}
