package netmirror

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/rule/providermirror"
)

// StartReleases starts a listener with the releases of Terraform that the mirror of the server has, and returns
// the address that replaces that of the site with the releases. It returns nil if the server has no such mirror.
// The files are signed, so the listener needs no HTTPS. The caller calls Stop.
func StartReleases(ctx context.Context, server http.Handler) (m *Mirror, address string, err error) {
	if server == nil {
		return nil, "", nil
	}
	hosts, err := mirrorHostnames(ctx, server)
	if err != nil || !slices.Contains(hosts, providermirror.Releases) {
		return nil, "", err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", fmt.Errorf("start the listener for the mirror of Terraform: %w", err)
	}
	word := rand.Text()
	m = &Mirror{done: make(chan struct{})}
	m.server = &http.Server{
		Handler: m.handler(server, word, "/releases/"), ReadHeaderTimeout: 10 * time.Second,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	go func() {
		defer close(m.done)
		m.server.Serve(l) //nolint:errcheck // Stop ends it
	}()
	return m, "http://" + l.Addr().String() + "/" + word, nil
}
