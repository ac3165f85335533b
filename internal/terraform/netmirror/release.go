package netmirror

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/seed-2a7f8fe7/coder/internal/rule/providermirror"
)

// StartReleases starts a listener with the releases of Terraform that the mirror of the server has, and returns
// the address that replaces that of the site with the releases. It returns nil if the server has no such mirror.
// The files are signed, so the listener needs no HTTPS. The caller calls Stop.
func StartReleases(ctx context.Context, server http.Handler) (m *Mirror, address string, err error) {
	if server == nil {
		return nil, "", nil
	}
	status, err := mirrorStatus(ctx, server)
	if err != nil || !slices.Contains(status.Hostnames, providermirror.Releases) {
		return nil, "", err
	}
	m, base, err := listen(server, "/releases/", nil)
	if err != nil {
		return nil, "", fmt.Errorf("start the listener for the mirror of Terraform: %w", err)
	}
	return m, "http://" + base, nil
}
