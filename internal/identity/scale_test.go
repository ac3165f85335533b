package identity

import (
	"testing"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
)

// fill makes n users, members of the default organization, with a key and a row
// in the audit log each.
func (h *house) fill(n int) {
	h.t.Helper()
	for _, sql := range []string{
		`INSERT INTO users (id, email, username, login_type, status, created_at, updated_at)
		 SELECT gen_random_uuid(), 'u' || i || '@example.com', 'u' || i, 'none', 'active', now(), now() FROM generate_series(1, $1::integer) i`,
		`INSERT INTO organization_members SELECT (SELECT id FROM organizations), id, '{}', now(), now() FROM users WHERE username LIKE 'u%' AND $1::integer > 0`,
		`INSERT INTO api_keys (id, secret_hash, user_id, login_type, lifetime_seconds, created_at, updated_at, last_used_at, expires_at)
		 SELECT lpad(row_number() OVER ()::text, 10, '0'), sha256('x'), id, 'token', 60, now(), now(), now(), now() FROM users WHERE $1::integer > 0`,
		`INSERT INTO audit_logs (id, time, user_id, resource_type, action)
		 SELECT gen_random_uuid(), now() - (row_number() OVER ()) * interval '1 second', id, 'user', 'write' FROM users WHERE $1::integer > 0`,
	} {
		if _, err := h.c.Store.Pool().Exec(h.t.Context(), sql, n); err != nil {
			h.t.Fatal(err)
		}
	}
	if _, err := h.c.Store.Pool().Exec(h.t.Context(), `ANALYZE`); err != nil {
		h.t.Fatal(err)
	}
}

// BenchmarkScale runs the query of every request and those of the lists among
// 100,000 users, keys and audit rows.
func BenchmarkScale(b *testing.B) {
	h := newHouse(b, Config{})
	token, err := h.login("root@example.com", password)
	if err != nil {
		b.Fatal(err)
	}
	h.fill(100_000)
	for name, fn := range map[string]func() error{
		"authenticate":    func() error { return second(h.Authenticate(b.Context(), token, here)) },
		"user by name":    func() error { return second(h.UserByRef(b.Context(), h.root, "u77777")) },
		"page of users":   func() error { return second(h.Users(b.Context(), h.root, UserSearch{Limit: 25, Offset: 50000})) },
		"search of users": func() error { return second(h.Users(b.Context(), h.root, UserSearch{Limit: 25, Text: "u7777"})) },
		"page of audit": func() error {
			return second(h.AuditLogs(b.Context(), h.root, AuditSearch{Search: audit.Search{Limit: 25}}))
		},
		"audit of a user": func() error {
			return second(h.AuditLogs(b.Context(), h.root, AuditSearch{Search: audit.Search{Limit: 25, Username: "u5"}}))
		},
		"page of members": func() error { return second(h.Members(b.Context(), h.root, "default", MemberSearch{Limit: 25})) },
		"tokens":          func() error { return second(h.Tokens(b.Context(), h.root, "me", true, true, codersdk.Page{})) },
		"active owners": func() error {
			return second(h.UpdateRoles(b.Context(), h.root, "root", codersdk.UpdateRoles{Roles: []string{"owner"}}))
		},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := fn(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
