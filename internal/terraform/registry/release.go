package registry

import (
	"context"
	"fmt"
	"net/url"

	"github.com/seed-2a7f8fe7/coder/internal/rule/providermirror"
)

// Release is what the site with the releases has for a version of Terraform, besides its archives.
type Release struct {
	Checksums []byte // the SHA256SUMS file
	Signature []byte // of the checksums. Who runs Terraform has HashiCorp's key and checks it.
}

// maxRelease bounds each file of a Release, in bytes.
const maxRelease = 64 << 10

// Release returns the signed checksums of a version of Terraform.
func (c *Client) Release(ctx context.Context, version string) (Release, error) {
	var out Release
	base := releaseURL(version)
	for suffix, into := range map[string]*[]byte{"": &out.Checksums, providermirror.SignatureSuffix: &out.Signature} {
		at := base.JoinPath(providermirror.ChecksumsName(version) + suffix)
		b, err := c.read(ctx, at)
		if err == nil && len(b) > maxRelease {
			err = fmt.Errorf("the answer is larger than %d bytes", maxRelease)
		}
		if err != nil {
			return Release{}, fmt.Errorf("read %s: %w", at, err)
		}
		*into = b
	}
	return out, nil
}

func releaseURL(version string) *url.URL {
	return &url.URL{Scheme: "https", Host: providermirror.Releases, Path: "/terraform/" + version + "/"}
}

// describeRelease returns where an archive of Terraform and its checksums are.
func describeRelease(t providermirror.Target) description {
	return description{at: releaseURL(t.Version), Filename: t.Filename(), Download: t.Filename(), Checksums: providermirror.ChecksumsName(t.Version)}
}
