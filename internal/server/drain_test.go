package server_test

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// TestDrain checks that /healthz of a stopping server is not ready while the server still
// serves requests, if another replica runs.
func TestDrain(t *testing.T) {
	c := config(t)
	first := start(t, c)
	c.ConfigDir, c.CacheDir, c.Network.DrainPeriod = t.TempDir(), t.TempDir(), time.Hour
	second, err := server.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	get := func(s *server.Server, path string) (int, string) {
		resp, err := http.Get(s.AccessURL().JoinPath(path).String())
		if err != nil {
			return 0, err.Error()
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body) //nolint:errcheck // an empty body fails the test
		return resp.StatusCode, string(b)
	}
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		second.Stop(ctx) //nolint:errcheck // it is killed
	}()
	testwait.Until(t, "the second server is not ready", func() bool { status, _ := get(second, "healthz"); return status == http.StatusServiceUnavailable })
	if status, body := get(second, "api/v2/buildinfo"); status != http.StatusOK {
		t.Errorf("while it drains: %d %s", status, body)
	}
	if status, _ := get(second, "readyz"); status != http.StatusServiceUnavailable {
		t.Errorf("readyz of the stopping server: status %d", status)
	}
	if status, body := get(first, "healthz"); status != http.StatusOK {
		t.Errorf("the other replica: %d %s", status, body)
	}
	kill()
	<-stopped
	if status, _ := get(second, "healthz"); status != 0 {
		t.Errorf("after its stop it answers %d", status)
	}
}
