package netmirror

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/seed-2a7f8fe7/coder/internal/rule/providermirror"
)

// StartReleases starts a listener with the releases of programs that the mirror of the server has, and returns its
// address, below which /terraform/ has those of Terraform and /opentofu/ those of OpenTofu. It returns nil if the mirror
// does not have those of the program. The files are signed, so the listener needs no HTTPS. The caller calls Stop.
func StartReleases(ctx context.Context, server http.Handler, p providermirror.Program) (m *Mirror, address string, err error) {
	if server == nil {
		return nil, "", nil
	}
	status, err := mirrorStatus(ctx, server)
	if err != nil || !slices.Contains(status.Hostnames, p.Hostname) {
		return nil, "", err
	}
	m, base, err := listen(server, "/releases/", nil)
	if err != nil {
		return nil, "", fmt.Errorf("start the listener for the mirror of releases: %w", err)
	}
	return m, "http://" + base, nil
}
