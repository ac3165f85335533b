package registry

import (
	"context"
	"fmt"

	"github.com/seed-2a7f8fe7/coder/internal/rule/providermirror"
)

// maxRelease bounds each file of a Release, in bytes.
const maxRelease = 64 << 10

// Release returns the signed checksums of a version of a program.
func (c *Client) Release(ctx context.Context, p providermirror.Program, version string) (providermirror.Release, error) {
	var out providermirror.Release
	for name, into := range map[string]*[]byte{p.ChecksumsName(version): &out.Checksums, p.SignatureName(version): &out.Signature} {
		at := p.URL(version).JoinPath(name)
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
