package identity

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
)

// TestPlansOfLists looks at what the database reads for pages of 10,000 users
// and of what there is of them: every table a bounded number of times, and of what one sees
// alone nothing but that.
func TestPlansOfLists(t *testing.T) {
	const n = 10_000
	h := newHouse(t, Config{})
	h.fill(n)
	if _, err := h.c.Store.Pool().Exec(t.Context(), `INSERT INTO groups (id, organization_id, name) SELECT gen_random_uuid(), $1, 'g' || i FROM generate_series(1, 24) i`, h.org); err != nil {
		t.Fatal(err)
	}
	none := []string{}
	users := sqlc.UsersParams{SeeAll: true, Statuses: none, Roles: none, LoginTypes: none, RowLimit: 25}
	searched, mine, late := users, users, users
	searched.Search, late.RowOffset = "u77", n-100
	mine.SeeAll, mine.SeeID = false, h.root.UserID
	members := sqlc.OrganizationMembersParams{OrganizationID: h.org, SeeAll: true, RowLimit: 25}
	for _, c := range []struct {
		what, file, query string
		params            any
		most              float64
	}{
		{"users", "users", "Users", users, 1.3}, {"users searched", "users", "Users", searched, 1.1}, {"last users", "users", "Users", late, 2.3},
		{"oneself", "users", "Users", mine, 0.01},
		{"members", "organizations", "OrganizationMembers", members, 2.1},
		{"groups of an organization", "groups", "Groups", sqlc.GroupsParams{SeeAll: true, SeeOrganizations: []uuid.UUID{}, OrganizationID: h.org, RowLimit: 25}, 4.1},
		{"audit log", "audit", "AuditLogs", sqlc.AuditLogsParams{SeeAll: true, SeeOrganizations: []uuid.UUID{}, RowLimit: 25}, 0.02},
		{"audit log, last page", "audit", "AuditLogs", sqlc.AuditLogsParams{SeeAll: true, SeeOrganizations: []uuid.UUID{}, RowLimit: 25, RowOffset: n - 100}, 3.1},
	} {
		plan := postgrestest.Explain(t, h.c.Store, c.file, c.query, c.params)
		if plan.Touched > c.most*n {
			t.Errorf("%s: %.0f rows are read, more than %.0f\n%s", c.what, plan.Touched, c.most*n, plan.Text)
		}
	}
}

// TestPagesOfUsers reads pages of more and of fewer users than a list reads at once.
func TestPagesOfUsers(t *testing.T) {
	const n = 1500
	h := newHouse(t, Config{})
	h.fill(n)
	everyone, err := h.Users(t.Context(), h.root, UserSearch{Limit: n + 10})
	if err != nil || everyone.Count != len(everyone.Users) || everyone.Count < n {
		t.Fatalf("%d of %d users, %v", len(everyone.Users), everyone.Count, err)
	}
	for _, text := range []string{"", "U1", "u77", "u1499", "none"} {
		var all []string
		for _, u := range everyone.Users {
			if strings.Contains(u.Username, strings.ToLower(text)) || strings.Contains(u.Name, text) {
				all = append(all, u.Username)
			}
		}
		slices.Sort(all)
		for _, offset := range []int{0, 7, 990, 1200, 3000} {
			page, err := h.Users(t.Context(), h.root, UserSearch{Text: text, Limit: 25, Offset: offset})
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, u := range page.Users {
				names = append(names, u.Username)
			}
			want := all[min(offset, len(all)):min(offset+25, len(all))]
			if !slices.Equal(names, want) || page.Count != len(all) {
				t.Errorf("users with %q after %d: got %d %v, want %d %v", text, offset, page.Count, names, len(all), want)
			}
		}
	}
}

// BenchmarkLists is how long lists of 10,000 users take whole.
func BenchmarkLists(b *testing.B) {
	h := newHouse(b, Config{})
	h.fill(10_000)
	for name, fn := range map[string]func() error{
		"users":          func() error { return second(h.Users(b.Context(), h.root, UserSearch{Limit: 25})) },
		"users searched": func() error { return second(h.Users(b.Context(), h.root, UserSearch{Limit: 25, Text: "u77"})) },
		"last users":     func() error { return second(h.Users(b.Context(), h.root, UserSearch{Limit: 25, Offset: 9_900})) },
		"members":        func() error { return second(h.Members(b.Context(), h.root, "default", MemberSearch{Limit: 25})) },
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
