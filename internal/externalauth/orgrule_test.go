package externalauth_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/externalauth"
)

// TestRulesOfOrganizations checks that an organization forbids the start of a link, its end, and the use of a link
// that exists.
func TestRulesOfOrganizations(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	organization := uuid.New()
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := w.store.Pool().Exec(ctx, sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec(`INSERT INTO organizations (id, name, created_at, updated_at) VALUES ($1, 'acme', now(), now())`, organization)
	exec(`INSERT INTO organization_members (organization_id, user_id, created_at, updated_at) VALUES ($1, $2, now(), now())`, organization, w.actor.UserID)
	restrict := func(on bool, providers string) {
		t.Helper()
		exec(`INSERT INTO organization_rules (organization_id, external_auth_restricted, external_auth, updated_at) VALUES ($1, $2, $3, now())
			ON CONFLICT (organization_id) DO UPDATE SET external_auth_restricted = excluded.external_auth_restricted, external_auth = excluded.external_auth`,
			organization, on, providers)
	}
	refused := func(what string, err error) {
		t.Helper()
		if !codersdk.Is(err, codersdk.CodeForbidden) || !strings.Contains(err.Error(), "Organization acme does not permit its members to link") {
			t.Errorf("%s: %v", what, err)
		}
	}

	restrict(true, `[{"provider_id": "gitlab", "group_ids": []}]`)
	_, _, err := w.svc.Begin(ctx, w.actor, "github", "")
	refused("begin", err)

	restrict(true, `[{"provider_id": "github", "group_ids": []}]`)
	w.link("github")
	w.token("github")

	restrict(true, `[]`)
	_, err = w.ask("github")
	refused("a workspace", err)
	refused("a template", w.svc.Require(ctx, w.actor.UserID, []codersdk.TemplateVersionExternalAuth{{ID: "github"}}))
	links, err := w.svc.Links(ctx, w.actor)
	if err != nil || len(links.Links) != 1 || links.Links[0].Authenticated || !strings.Contains(links.Links[0].ValidateError, "acme") {
		t.Errorf("the user sees %+v, %v", links.Links, err)
	}

	restrict(false, `[]`)
	w.token("github")
}

// TestRulesOfOrganizationsInDeviceFlow checks that an organization forbids the start and the end of the device flow.
func TestRulesOfOrganizationsInDeviceFlow(t *testing.T) {
	w := newWorld(t, func(h *host) externalauth.Provider {
		p := h.provider("github")
		p.DeviceFlow = true
		return p
	})
	ctx := t.Context()
	d, err := w.svc.Device(ctx, w.actor, "github")
	if err != nil {
		t.Fatal(err)
	}
	w.host.set(func(h *host) { h.devices[d.DeviceCode] = true })
	organization := uuid.New()
	for _, sql := range []string{
		`INSERT INTO organizations (id, name, created_at, updated_at) VALUES ($1, 'acme', now(), now())`,
		`INSERT INTO organization_members (organization_id, user_id, created_at, updated_at) SELECT $1, id, now(), now() FROM users`,
		`INSERT INTO organization_rules (organization_id, external_auth_restricted, updated_at) VALUES ($1, true, now())`,
	} {
		if _, err := w.store.Pool().Exec(ctx, sql, organization); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.svc.Device(ctx, w.actor, "github"); !codersdk.Is(err, codersdk.CodeForbidden) {
		t.Errorf("start: %v", err)
	}
	if err := w.svc.ExchangeDevice(ctx, w.actor, "github", d.DeviceCode); !codersdk.Is(err, codersdk.CodeForbidden) {
		t.Errorf("end: %v", err)
	}
}
