package scaletest

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// page is a page of the dashboard with the requests that it sends.
type page struct {
	name     string
	requests []string // paths below /api/v2
}

// pages are the pages that a developer opens most. {user} stands for the name
// of the user.
var pages = []page{
	{"workspaces", []string{"/workspaces?q=owner:me&limit=25", "/templates", "/buildinfo", "/users/me", "/entitlements"}},
	{"templates", []string{"/templates", "/templates/examples"}},
	{"tokens", []string{"/users/me/keys/tokens", "/users/me/keys/tokens/tokenconfig"}},
	{"account", []string{"/users/me", "/users/me/organizations", "/users/me/gitsshkey"}},
}

// BypassHeader is the header with which an owner bypasses the limit of requests per minute.
const BypassHeader = "X-Coder-Bypass-Ratelimit"

// Dashboard opens pages of the dashboard as users do.
type Dashboard struct {
	Client   *codersdk.Client
	Interval time.Duration // mean pause between two pages of a user
	Duration time.Duration // of the test
}

// Tasks returns one task for each user. A task creates a token of the user and
// deletes it at the end.
func (d Dashboard) Tasks(all []codersdk.User) []Task {
	out := make([]Task, len(all))
	for i, u := range all {
		out[i] = Task{Name: u.Username, Do: func(ctx context.Context, r *Recorder) error { return d.run(ctx, r, u) }}
	}
	return out
}

func (d Dashboard) run(ctx context.Context, r *Recorder, u codersdk.User) error {
	name := fmt.Sprintf("%sdashboard-%08x", Prefix, rand.Uint32())
	owner, own := *d.Client, *d.Client
	owner.Header, own.Header = d.Client.Header.Clone(), d.Client.Header.Clone()
	if owner.Header == nil {
		owner.Header = http.Header{}
	}
	owner.Header.Set(BypassHeader, "true") // there can be more users than the owner has requests per minute
	own.Header.Del(BypassHeader)
	key, err := owner.CreateToken(ctx, u.ID.String(), codersdk.CreateTokenRequest{
		TokenName: name, Lifetime: d.Duration + 24*time.Hour, Scope: codersdk.APIKeyScopeAll,
	})
	if err != nil {
		return fmt.Errorf("create token: %w", err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		if t, err := owner.Token(ctx, u.ID.String(), name); err == nil {
			_ = owner.DeleteAPIKey(ctx, u.ID.String(), t.ID) // it expires otherwise
		}
	}()
	own.SessionToken = key.Key
	end := time.After(d.Duration)
	for {
		if err := open(ctx, r, &own, pages[rand.IntN(len(pages))]); err != nil {
			return err
		}
		pause := time.Duration((0.5 + rand.Float64()) * float64(d.Interval))
		select {
		case <-time.After(pause):
		case <-end:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// open sends the requests of a page, one after the other.
func open(ctx context.Context, r *Recorder, c *codersdk.Client, p page) error {
	began := time.Now()
	for _, path := range p.requests {
		u, err := url.Parse(path)
		if err != nil {
			return err
		}
		asked := time.Now()
		resp, err := c.Request(ctx, http.MethodGet, u.Path, u.Query(), nil)
		if err != nil {
			return fmt.Errorf("GET %s: %w", path, err)
		}
		n, err := io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		r.Add("bytes received", n)
		r.Add("requests", 1)
		r.Observe("request", time.Since(asked))
		r.Observe("request "+u.Path, time.Since(asked))
		if err != nil {
			return fmt.Errorf("GET %s: %w", path, err)
		}
		if resp.StatusCode >= 400 {
			return fmt.Errorf("GET %s: status %d", path, resp.StatusCode)
		}
	}
	r.Observe("page "+p.name, time.Since(began))
	return nil
}
