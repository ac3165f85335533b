package audit

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
)

func TestDiff(t *testing.T) {
	type thing struct {
		Name      string            `json:"name"`
		TokenName string            `json:"token_name"`
		Secret    string            `json:"client_secret"`
		Labels    map[string]string `json:"labels"`
		Limit     *int              `json:"limit"`
		UpdatedAt int               `json:"updated_at"`
	}
	five := 5
	for name, c := range map[string]struct {
		old, new any
		want     codersdk.AuditDiff
	}{
		"nothing":   {thing{Name: "a"}, thing{Name: "a", UpdatedAt: 7}, codersdk.AuditDiff{}},
		"a name":    {thing{Name: "a"}, thing{Name: "b"}, codersdk.AuditDiff{"name": {Old: "a", New: "b"}}},
		"a secret":  {thing{Secret: "x"}, thing{Secret: "y"}, codersdk.AuditDiff{"client_secret": {Old: "", New: "", Secret: true}}},
		"no secret": {thing{}, thing{TokenName: "ci"}, codersdk.AuditDiff{"token_name": {Old: "", New: "ci"}}},
		"a switch": {
			map[string]any{"disable_user_secrets": false}, map[string]any{"disable_user_secrets": true},
			codersdk.AuditDiff{"disable_user_secrets": {Old: false, New: true}},
		},
		"a secret like a switch": {
			map[string]any{"secret": "true"}, map[string]any{"secret": true},
			codersdk.AuditDiff{"secret": {Old: "", New: "", Secret: true}},
		},
		"limits": {
			map[string]any{"token_scopes": []string{}, "max_token_lifetime_seconds": 0}, map[string]any{"token_scopes": []string{"a"}, "max_token_lifetime_seconds": 5},
			codersdk.AuditDiff{"token_scopes": {Old: []any{}, New: []any{"a"}}, "max_token_lifetime_seconds": {Old: 0.0, New: 5.0}},
		},
		"a null": {thing{}, thing{Limit: &five}, codersdk.AuditDiff{"limit": {Old: "", New: 5.0}}},
		"a map":  {thing{Labels: map[string]string{"a": "1"}}, thing{Labels: map[string]string{"a": "2"}}, codersdk.AuditDiff{"labels": {Old: map[string]any{"a": "1"}, New: map[string]any{"a": "2"}}}},
		"made":   {nil, map[string]string{"name": "a"}, codersdk.AuditDiff{"name": {Old: "", New: "a"}}},
		"gone":   {map[string]string{"name": "a"}, nil, codersdk.AuditDiff{"name": {Old: "a", New: ""}}},
	} {
		if d := cmp.Diff(c.want, Diff(c.old, c.new)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestRecord: the row is there when the transaction is, and only then.
func TestRecord(t *testing.T) {
	store := postgrestest.New(t)
	actor := access.Subject{Origin: access.Origin{IP: netip.MustParseAddr("2001:db8::1"), UserAgent: "x" + strings.Repeat("é", 1000) + "\xff", RequestID: "r"}}
	entry := Entry{Action: codersdk.AuditActionCreate, ResourceType: codersdk.ResourceTypeWorkspace, ResourceID: uuid.New(), Target: "box", Fields: map[string]any{"build_reason": "autostart"}}
	undone := codersdk.Errorf(codersdk.CodeConflict, "no")
	for _, end := range []error{nil, undone} {
		err := store.Tx(t.Context(), func(q *sqlc.Queries) error {
			if err := Record(t.Context(), q, actor, entry); err != nil {
				return err
			}
			return end
		})
		if err != nil && err != undone { //nolint:errorlint // the very error
			t.Fatal(err)
		}
	}
	rows, err := store.AuditLogs(t.Context(), sqlc.AuditLogsParams{SeeAll: true, SeeOrganizations: []uuid.UUID{}, BuildReason: "autostart", RowLimit: 10})
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 1 || rows[0].AuditLog.StatusCode != 201 || rows[0].AuditLog.IP.String() != "2001:db8::1" {
		t.Errorf("rows: %+v", rows)
	}
}

// TestUserSecret: the entry of a user secret names the secret, and not a user with its name.
func TestUserSecret(t *testing.T) {
	row := sqlc.AuditLog{Action: "delete", ResourceType: "user", ResourceTarget: "npm", AdditionalFields: []byte(`{"user_secret": "npm"}`)}
	got := view(sqlc.AuditLogsRow{AuditLog: row})
	if got.Description != "The server deleted user secret npm" || got.ResourceLink != "" {
		t.Errorf("description %q, link %q", got.Description, got.ResourceLink)
	}
}
