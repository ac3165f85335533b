package bench

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/bench/plain"
)

// appRows measures apps on their own server.
func appRows(ctx context.Context, c Config, bin string) ([]row, error) {
	dir, err := os.MkdirTemp("", "coder-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	s, err := newServer(ctx, bin, dir, "--wildcard-access-url", "*.apps.test")
	if err != nil {
		return nil, err
	}
	defer s.stop()
	return appRequests(ctx, s, c.Root, max(1, c.Runs))
}

// appClients is the number of concurrent browsers, and appWhile the duration of
// one run.
const (
	appClients = 16
	appWhile   = 2 * time.Second
)

// appRequests measures requests per second and their 99th percentile through
// the server to a workspace app, against Go's reverse proxy to the same app,
// each in its own process, in turns.
func appRequests(ctx context.Context, s *server, root string, runs int) ([]row, error) {
	page := make([]byte, 1024)
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(page) })) //nolint:errcheck // the client went away
	defer app.Close()
	at, err := url.Parse(app.URL)
	if err != nil {
		return nil, err
	}
	floorAt, stop, err := plain.Start(ctx, "floor-proxy", app.URL+"\n")
	if err != nil {
		return nil, err
	}
	defer stop()
	host, end, err := s.sharePort(ctx, root, at.Port())
	if err != nil {
		return nil, err
	}
	defer end()
	floor, ours := &visitors{at: floorAt}, &visitors{at: "http://" + s.address, host: host}
	var rates, tails []float64
	for range runs {
		f, err := floor.visit(ctx)
		if err != nil {
			return nil, fmt.Errorf("the plain proxy: %w", err)
		}
		o, err := ours.visit(ctx)
		if err != nil {
			return nil, fmt.Errorf("the app: %w", err)
		}
		rates = append(rates, float64(len(o))/float64(len(f)))
		tails = append(tails, float64(quantile(o, 0.99))/float64(quantile(f, 0.99)))
	}
	return []row{
		atLeast("app_requests_over_plain_proxy", median(rates), 0.5, "x"),
		atMost("app_p99_over_plain_proxy", median(tails), 2, "x"),
	}, nil
}

// sharePort creates a workspace, shares one of its ports publicly, and returns
// its host name; end deletes the workspace.
func (s *server) sharePort(ctx context.Context, root, port string) (host string, end func(), err error) {
	t, err := s.push(ctx, "apps", filepath.Join(root, "examples", "templates", "local"))
	if err != nil {
		return "", nil, err
	}
	public := codersdk.WorkspaceAgentPortShareLevelPublic
	if _, err := s.c.UpdateTemplate(ctx, t.ID, codersdk.UpdateTemplateMeta{MaxPortShareLevel: &public}); err != nil {
		return "", nil, err
	}
	w, err := s.create(ctx, "apps", t)
	if err != nil {
		return "", nil, err
	}
	end = func() { s.run(context.WithoutCancel(ctx), "delete", "apps", "--yes") } //nolint:errcheck // best effort
	n, err := strconv.Atoi(port)
	if err == nil {
		_, err = s.c.SharePort(ctx, w.ID, codersdk.UpsertWorkspaceAgentPortShareRequest{AgentName: "main", Port: int32(n), ShareLevel: public})
	}
	if err == nil {
		err = s.run(ctx, "ssh", "apps", "true") // waits for the agent
	}
	if err != nil {
		end()
		return "", nil, err
	}
	_, own, err := net.SplitHostPort(s.address)
	return codersdk.SubdomainAppName(port, "main", "apps", "admin") + ".apps.test:" + own, end, err
}

// visitors are browsers that request one page, each over its own connection.
type visitors struct {
	at, host string
	mu       sync.Mutex
	took     []time.Duration
	failed   error
}

// visit sends requests for appWhile and returns the latency of each.
func (v *visitors) visit(ctx context.Context) ([]time.Duration, error) {
	v.took, v.failed = nil, nil
	until := time.Now().Add(appWhile)
	var all sync.WaitGroup
	for range appClients {
		all.Go(func() { v.browse(ctx, until) })
	}
	all.Wait()
	if v.failed == nil && len(v.took) == 0 {
		return nil, fmt.Errorf("nothing was answered within %s", appWhile)
	}
	return slices.Clone(v.took), v.failed
}

func (v *visitors) browse(ctx context.Context, until time.Time) {
	tr := &http.Transport{MaxIdleConnsPerHost: 1}
	defer tr.CloseIdleConnections()
	var took []time.Duration
	var failed error
	cookies := map[string]*http.Cookie{}
	for failed == nil && time.Now().Before(until) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, v.at+"/", nil)
		if err != nil {
			failed = err
			break
		}
		r.Host = v.host
		for _, c := range cookies {
			r.AddCookie(c)
		}
		began := time.Now()
		resp, err := tr.RoundTrip(r)
		if err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		switch {
		case err != nil:
			failed = err
		case resp.StatusCode != http.StatusOK:
			failed = fmt.Errorf("status %s", resp.Status)
		default:
			took = append(took, time.Since(began))
			for _, c := range resp.Cookies() {
				cookies[c.Name] = c
			}
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.took = append(v.took, took...)
	if v.failed == nil {
		v.failed = failed
	}
}
