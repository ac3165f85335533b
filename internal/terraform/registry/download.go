package registry

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	pgperrors "github.com/ProtonMail/go-crypto/openpgp/errors"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/rule/providermirror"
)

// Archive describes a downloaded archive.
type Archive struct {
	Size     int64
	SHA256   []byte
	SignedBy string // id of the key, in hexadecimal; "" if the registry names no key
	// Published is true for modules that an administrator publishes.
	Published bool
	Release   providermirror.Release
}

// description is the answer of the registry about one archive.
type description struct {
	at        *url.URL
	Filename  string `json:"filename"`
	Download  string `json:"download_url"`
	Checksums string `json:"shasums_url"`
	Signature string `json:"shasums_signature_url"`
	Checksum  string `json:"shasum"`
	Keys      struct {
		GPG []struct {
			Armor string `json:"ascii_armor"`
		} `json:"gpg_public_keys"`
	} `json:"signing_keys"`
}

// downloadTimeout bounds the download of one archive.
const downloadTimeout = 30 * time.Minute

// Download writes the archive of a target to w, at most limit bytes. Only after it returned nil is the
// archive what the registry's signed checksums state: the caller discards what an error left. Registries state no
// checksums of modules; the archive of a module is made from its files.
func (c *Client) Download(ctx context.Context, t providermirror.Target, w io.Writer, limit int64) (Archive, error) {
	if t.Kind() == providermirror.KindModule {
		return c.downloadModule(ctx, t, w)
	}
	d, err := c.describe(ctx, t)
	if err != nil {
		return Archive{}, err
	}
	stated, key, err := c.stated(ctx, t, d)
	if err != nil {
		return Archive{}, err
	}
	want := providermirror.ParseChecksums(stated.Checksums)[d.Filename]
	if want == nil {
		return Archive{}, poisoned(t, "the registry's list of checksums does not name "+d.Filename)
	}
	if d.Checksum != "" && !strings.EqualFold(d.Checksum, hex.EncodeToString(want)) {
		return Archive{}, poisoned(t, "the registry states two different checksums of it")
	}
	from, err := secure(d.at, d.Download)
	if err != nil {
		return Archive{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, downloadTimeout)
	defer cancel()
	resp, err := c.get(ctx, from)
	if err != nil {
		return Archive{}, fmt.Errorf("download %s: %w", t, err)
	}
	defer resp.Body.Close()
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(w, h), io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return Archive{}, fmt.Errorf("download %s: %w: %w", t, ErrUnreachable, err)
	}
	if n > limit {
		return Archive{}, codersdk.Errorf(codersdk.CodeTooLarge, "%s is larger than %d bytes, the size of the mirror; raise --mirror-max-bytes", t, limit)
	}
	if got := h.Sum(nil); !bytes.Equal(got, want) {
		return Archive{}, poisoned(t, fmt.Sprintf("its SHA-256 is %x, but the registry states %x", got, want))
	}
	out := Archive{Size: n, SHA256: want, SignedBy: key}
	if t.Kind() == providermirror.KindProgram {
		out.Release = stated
	}
	return out, nil
}

// poisoned returns the error of an archive that is not what it should be.
func poisoned(t providermirror.Target, why string) error {
	return codersdk.Errorf(codersdk.CodePrecondition, "%s is refused: %s", t, why)
}

// describe requests where an archive and its checksums are.
func (c *Client) describe(ctx context.Context, t providermirror.Target) (description, error) {
	if p, ok := t.Program(); ok {
		return description{at: p.URL(t.Version), Filename: t.Filename(), Download: t.Filename()}, nil
	}
	var d description
	at, err := c.address(ctx, t.Address, t.Version, "download", t.OS, t.Arch)
	if err != nil {
		return d, err
	}
	if err := c.document(ctx, at, &d); err != nil {
		return d, fmt.Errorf("find %s: %w", t, err)
	}
	d.at = at
	if d.Filename == "" || d.Download == "" || d.Checksums == "" {
		return d, fmt.Errorf("the answer of %s about %s has no download or no checksums", t.Hostname, t)
	}
	return d, nil
}

// stated returns the checksums of a version, and the id of the key that signed them, "" if the registry names no
// key. Only those of programs come with their signature, which the provisioner checks.
func (c *Client) stated(ctx context.Context, t providermirror.Target, d description) (out providermirror.Release, key string, err error) {
	if p, ok := t.Program(); ok {
		out, err = c.Release(ctx, p, t.Version)
		return out, "", err
	}
	at, err := secure(d.at, d.Checksums)
	if err != nil {
		return out, "", err
	}
	if out.Checksums, err = c.read(ctx, at); err != nil {
		return out, "", fmt.Errorf("read the checksums of %s: %w", t, err)
	}
	key, err = c.verify(ctx, t, d, out.Checksums)
	return out, key, err
}

// verify checks the signature of checksums if the registry names keys. It returns the id of the key.
func (c *Client) verify(ctx context.Context, t providermirror.Target, d description, text []byte) (string, error) {
	if len(d.Keys.GPG) == 0 {
		return "", nil
	}
	at, err := secure(d.at, d.Signature)
	if err != nil || d.Signature == "" {
		return "", poisoned(t, "the registry names signing keys, but no signature of its checksums")
	}
	signature, err := c.read(ctx, at)
	if err != nil {
		return "", fmt.Errorf("read the signature of %s: %w", t, err)
	}
	for _, k := range d.Keys.GPG {
		ring, err := openpgp.ReadArmoredKeyRing(strings.NewReader(k.Armor))
		if err != nil {
			continue
		}
		signer, err := openpgp.CheckDetachedSignature(ring, bytes.NewReader(text), bytes.NewReader(signature), nil)
		// A key that expired after the release has signed it all the same.
		if signer != nil && (err == nil || errors.Is(err, pgperrors.ErrKeyExpired)) {
			return fmt.Sprintf("%016X", signer.PrimaryKey.KeyId), nil
		}
	}
	return "", poisoned(t, "no key that the registry names has signed its checksums")
}
