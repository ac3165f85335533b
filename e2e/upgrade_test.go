package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/bench/figure"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// requests sends GET requests in sequence. It retries a failed request once, as clients
// do with idempotent requests.
type requests struct {
	failed []string
	took   []time.Duration
	sent   atomic.Int64 // length of took
}

func (r *requests) run(ctx context.Context, url, token string) {
	paths := []string{"/api/v2/users/me", "/api/v2/workspaces?q=owner:me", "/api/v2/templates", "/api/v2/buildinfo"}
	client := &http.Client{Timeout: testwait.Limit}
	for i := 0; ctx.Err() == nil; i++ {
		path, began := paths[i%len(paths)], time.Now()
		err := get(client, url+path, token)
		if err != nil {
			err = get(client, url+path, token)
		}
		r.took = append(r.took, time.Since(began))
		r.sent.Add(1)
		if err != nil {
			r.failed = append(r.failed, time.Now().UTC().Format(time.TimeOnly)+" "+err.Error())
		}
		testwait.Pause(10 * time.Millisecond)
	}
}

func get(client *http.Client, url, token string) error {
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Coder-Session-Token", token)
	req.Header.Set("X-Coder-Bypass-Ratelimit", "true") // owners can bypass the rate limit; real users send fewer requests
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", url, resp.Status)
	}
	return nil
}

// p99 returns the 99th percentile of the durations.
func p99(took []time.Duration) time.Duration {
	if len(took) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(took))
	return sorted[len(sorted)*99/100]
}

// normalRequests is the number of requests before the first replacement. The load is the
// same as during replacements.
const normalRequests = 500

// builds starts and stops a workspace until ctx ends. It returns the number of
// builds and the output of commands that failed.
func (f *fleet) builds(ctx context.Context, name string) (n int, failed []string) {
	if out, err := f.try("create", name, "--template", "local", "--use-parameter-defaults", "--yes"); err != nil {
		return 0, []string{"create: " + out}
	}
	for ; ctx.Err() == nil; n++ {
		for _, transition := range []string{"stop", "start"} {
			if out, err := f.try(transition, name, "--yes"); err != nil {
				failed = append(failed, transition+": "+out)
			}
		}
	}
	if out, err := f.try("delete", name, "--yes"); err != nil {
		failed = append(failed, "delete: "+out)
	}
	return 2 * n, failed
}

// TestRollingUpgrade replaces two servers on one database in sequence by another version
// and back. Meanwhile, workspaces are built, sessions are open, and clients send
// requests. CODER_E2E_PREVIOUS is the program of the other version. CODER_E2E_ROUNDS is
// the number of replacements. Without them, the test replaces the servers once by the
// same version.
func TestRollingUpgrade(t *testing.T) {
	t.Parallel()
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	versions, rounds := [2]string{bin, bin}, 1
	if previous := os.Getenv("CODER_E2E_PREVIOUS"); previous != "" {
		versions[0], rounds = previous, 10
	}
	if n, err := strconv.Atoi(os.Getenv("CODER_E2E_ROUNDS")); err == nil {
		rounds = n
	}
	f := newFleet(t, versions[0])
	r := f.prepare(t)
	session := r.session(t, "coder ssh", f.bin, "ssh", "dev", "cat")

	ctx, stop := context.WithCancel(t.Context())
	var load sync.WaitGroup
	var api requests
	var count int
	var failed []string
	token := f.token(t)
	load.Go(func() { api.run(ctx, f.balancer.url(), token) })
	load.Go(func() { count, failed = f.builds(ctx, "busy") })
	defer load.Wait()
	defer stop()
	session.waitForEcho(t, "the beginning")
	before := 0
	if rounds > 1 { // baseline for comparison
		testwait.Until(t, "requests before the first replacement", func() bool { return api.sent.Load() >= normalRequests })
		before = normalRequests
	}
	for round := range rounds {
		for i := range f.replicas {
			f.replace(t, i, versions[(round+1)%2], versions[round%2] == bin)
			session.waitForEcho(t, fmt.Sprintf("round %d, replica %d", round+1, i+1))
		}
	}
	stop()
	load.Wait()
	session.checkAllEchoed(t)
	for _, out := range failed {
		t.Errorf("a build failed: %s", out)
	}
	for _, e := range api.failed {
		t.Errorf("a request failed twice: %s", e)
	}
	normal, rolling := p99(api.took[:before]), p99(api.took[before:])
	t.Logf("%d builds, %d requests with a p99 of %s, and of %s before the first replacement", count, len(api.took), rolling, normal)
	if before > 0 {
		figure.AtMost("upgrade_p99", float64(rolling)/float64(max(normal, 1)), 2, "x").Print(os.Stdout)
	}
}
