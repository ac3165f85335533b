package registry

import (
	"context"
	"fmt"
	"net/url"

	"github.com/seed-2a7f8fe7/coder/internal/rule/providermirror"
)

// maxRelease bounds each file of a Release, in bytes.
const maxRelease = 64 << 10

// Release returns the signed checksums of a version of Terraform.
func (c *Client) Release(ctx context.Context, version string) (providermirror.Release, error) {
	var out providermirror.Release
	base := releaseURL(version)
	for suffix, into := range map[string]*[]byte{"": &out.Checksums, providermirror.SignatureSuffix: &out.Signature} {
		at := base.JoinPath(providermirror.ChecksumsName(version) + suffix)
		b, err := c.read(ctx, at)
		if err == nil && len(b) > maxRelease {
			err = fmt.Errorf("the answer is larger than %d bytes", maxRelease)
		}
		if err != nil {
			return providermirror.Release{}, fmt.Errorf("read %s: %w", at, err)
		}
		*into = b
	}
	return out, nil
}

func releaseURL(version string) *url.URL {
	return &url.URL{Scheme: "https", Host: providermirror.Releases, Path: "/terraform/" + version + "/"}
}

// describeRelease returns where an archive of Terraform is.
func describeRelease(t providermirror.Target) description {
	return description{at: releaseURL(t.Version), Filename: t.Filename(), Download: t.Filename()}
}
