package scimapi_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/scimapi"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/organization"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
	"github.com/seed-2a7f8fe7/coder/internal/scim"
)

const providerKey = "a-long-key-of-the-provider"

// deployment serves SCIM over a database with an owner named root.
type deployment struct {
	t      *testing.T
	store  *postgres.Store
	users  *identity.Service
	groups *organization.Service
	org    uuid.UUID
	root   access.Subject
	http   *httptest.Server
	// limited is the result of counting a failed attempt.
	limited error
}

func newDeployment(t *testing.T) *deployment {
	t.Helper()
	store := postgrestest.New(t)
	hub := notify.New(store.Pool(), slog.New(slog.DiscardHandler))
	d := &deployment{t: t, store: store}
	d.must(hub.Start(t.Context()))
	t.Cleanup(func() { d.must(hub.Stop(context.Background())) })
	d.users, d.groups = identity.New(identity.Config{Store: store, Hub: hub}), organization.New(organization.Config{Store: store, Hub: hub})
	first, err := d.users.CreateFirstUser(t.Context(), access.Origin{}, codersdk.CreateFirstUserRequest{Email: "root@example.com", Username: "root", Password: "correct horse battery"})
	d.must(err)
	d.org = first.OrganizationID
	d.root, err = d.users.SubjectOf(t.Context(), first.UserID)
	d.must(err)
	service := scim.New(scim.Config{Store: store, Identity: d.users, Organizations: d.groups, Hub: hub, Key: providerKey, URL: "https://coder.example.com/scim/v2",
		CountFailure: func(context.Context, netip.Addr) error { return d.limited }})
	mux := http.NewServeMux()
	for pattern, h := range (&scimapi.API{SCIM: service, Log: slog.New(slog.DiscardHandler)}).Mounts() {
		mux.Handle(pattern, h)
	}
	d.http = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin := access.Origin{IP: netip.MustParseAddr("192.0.2.1"), UserAgent: r.UserAgent(), RequestID: "r1"}
		mux.ServeHTTP(w, r.WithContext(access.WithOrigin(r.Context(), origin)))
	}))
	t.Cleanup(d.http.Close)
	return d
}

func (d *deployment) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

// response is a decoded response.
type response struct {
	t      *testing.T
	status int
	header http.Header
	body   map[string]any
	raw    string
}

// send sends a request as the provider does.
func (d *deployment) send(method, path, body string) response {
	d.t.Helper()
	return d.sendAs("Bearer "+providerKey, method, path, body)
}

func (d *deployment) sendAs(authorization, method, path, body string) response {
	d.t.Helper()
	req, err := http.NewRequestWithContext(d.t.Context(), method, d.http.URL+"/scim/v2"+path, strings.NewReader(body))
	d.must(err)
	req.Header.Set("Authorization", authorization)
	req.Header.Set("Content-Type", "application/scim+json")
	req.Header.Set("User-Agent", "Okta SCIM Client 1.0.0")
	resp, err := http.DefaultClient.Do(req)
	d.must(err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	d.must(err)
	out := response{t: d.t, status: resp.StatusCode, header: resp.Header, raw: string(raw)}
	if len(raw) > 0 {
		if t := resp.Header.Get("Content-Type"); !strings.HasPrefix(t, "application/scim+json") {
			d.t.Errorf("%s %s: Content-Type %q", method, path, t)
		}
		d.must(json.Unmarshal(raw, &out.body))
	}
	return out
}

// is fails the test unless the response has the status.
func (r response) is(status int) response {
	r.t.Helper()
	if r.status != status {
		r.t.Fatalf("status %d, want %d: %s", r.status, status, r.raw)
	}
	return r
}

// fails fails the test unless the response is an error of SCIM with the status and keyword.
func (r response) fails(status int, keyword string) {
	r.t.Helper()
	schemas, _ := r.body["schemas"].([]any)
	kind, _ := r.body["scimType"].(string)
	text, _ := r.body["status"].(string)
	if r.status != status || kind != keyword || len(schemas) != 1 || schemas[0] != "urn:ietf:params:scim:api:messages:2.0:Error" ||
		text != http.StatusText(status) && len(text) != 3 || r.body["detail"] == "" {
		r.t.Errorf("status %d, want %d %s: %s", r.status, status, keyword, r.raw)
	}
}

// at returns the value at a path such as emails.0.value.
func (r response) at(path string) any {
	var v any = r.body
	for name := range strings.SplitSeq(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[name]
		case []any:
			i := int(name[0] - '0')
			if i >= len(x) {
				return nil
			}
			v = x[i]
		default:
			return nil
		}
	}
	return v
}

// has fails the test unless the response has the values, pairs of a path and a value.
func (r response) has(pairs ...any) response {
	r.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		path := pairs[i].(string)
		if got := r.at(path); got != pairs[i+1] {
			r.t.Errorf("%s is %v, want %v: %s", path, got, pairs[i+1], r.raw)
		}
	}
	return r
}

func (r response) id() string {
	r.t.Helper()
	id, _ := r.body["id"].(string)
	if id == "" {
		r.t.Fatalf("no id: %s", r.raw)
	}
	return id
}

// account returns the account of a user.
func (d *deployment) account(id string) codersdk.User {
	d.t.Helper()
	u, err := d.users.UserByRef(d.t.Context(), d.root, id)
	d.must(err)
	return u
}

// session signs a user in with OpenID Connect.
func (d *deployment) session(email string) string {
	d.t.Helper()
	token, err := d.users.LoginExternal(d.t.Context(), access.Origin{}, identity.External{
		By: codersdk.LoginTypeOIDC, Issuer: "https://idp.example.com", Subject: email, Email: email, Username: email,
	})
	d.must(err)
	return token
}

// audits returns the newest entries of the audit log about a user.
func (d *deployment) audits(id string) []codersdk.AuditLog {
	d.t.Helper()
	logs, err := d.users.AuditLogs(d.t.Context(), d.root, identity.AuditSearch{Search: audit.Search{ResourceID: uuid.MustParse(id), Limit: 10}})
	d.must(err)
	return logs.AuditLogs
}
