// Package updatecheck asks a URL for the newest release of the product. It
// sends nothing about the deployment: one GET request without a cookie, whose
// User-Agent is "coder". (CP-15)
package updatecheck

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync"
	"time"

	"golang.org/x/mod/semver"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
)

// Times of the check.
const (
	interval = 24 * time.Hour
	// spread delays the checks of a day by a random part of it, so that
	// deployments that start at the same time do not ask at the same time.
	spread  = time.Hour
	timeout = 30 * time.Second
)

// maxAnswer bounds the answer, in bytes.
const maxAnswer = 1 << 20

// Checker knows the newest release. It is a lifecycle.Service and safe for
// concurrent use.
type Checker struct {
	lifecycle.Loop

	url     *url.URL
	version string
	client  *http.Client
	log     *slog.Logger

	mu     sync.Mutex
	latest codersdk.UpdateCheckResponse
}

// New returns a checker of a running version. The answer of u has the form of
// GitHub's "latest release": an object with tag_name and html_url. A nil client
// means http.DefaultClient.
func New(u *url.URL, version string, client *http.Client, log *slog.Logger) *Checker {
	if client == nil {
		client = http.DefaultClient
	}
	c := &Checker{url: u, version: version, client: client, log: log, latest: codersdk.UpdateCheckResponse{Current: true, Version: version}}
	c.Run = c.run
	return c
}

// run asks at once and then about once a day, until ctx ends. A failed request
// is logged and keeps the previous answer.
func (c *Checker) run(ctx context.Context) {
	check := func(ctx context.Context) {
		if err := c.check(ctx); err != nil && ctx.Err() == nil {
			c.log.WarnContext(ctx, "cannot check for a newer version", "host", c.url.Host, "error", err)
		}
	}
	check(ctx)
	lifecycle.Every(ctx, interval+rand.N(spread), check)
}

// Latest returns the newest known release. Before the first answer it returns
// the running version as current.
func (c *Checker) Latest() codersdk.UpdateCheckResponse {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.latest
}

func (c *Checker) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url.String(), nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "coder")
	resp, err := c.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the server answered %s", resp.Status)
	}
	var answer struct {
		Tag string `json:"tag_name"`
		URL string `json:"html_url"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(&answer); err != nil {
		return fmt.Errorf("the answer is not JSON: %w", err)
	}
	if !semver.IsValid(answer.Tag) {
		return fmt.Errorf("tag_name %.40q is not a version such as v2.37.1", answer.Tag)
	}
	if err := codersdk.CheckLink("html_url", answer.URL); err != nil {
		return err
	}
	newest := codersdk.UpdateCheckResponse{Current: semver.Compare(c.version, answer.Tag) >= 0, Version: answer.Tag, URL: answer.URL}
	c.mu.Lock()
	c.latest = newest
	c.mu.Unlock()
	return nil
}
