package cli

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// TestLicenses: licenses are accepted, listed and deleted, and change nothing.
func TestLicenses(t *testing.T) {
	h := newHouse(t, nil)
	if out, errs := h.ok("licenses", "list"); out != "" || !strings.Contains(errs, "All features are included") {
		t.Errorf("an empty list: %q, %q", out, errs)
	}
	if out, _ := h.ok("licenses", "list", "-o", "json"); strings.TrimSpace(out) != "[]" {
		t.Errorf("an empty list as JSON: %q", out)
	}
	before, err := h.Client.Entitlements(t.Context())
	h.must(err)

	jwt := "eyJhbGciOiJFZERTQSJ9." + base64.RawURLEncoding.EncodeToString([]byte(`{"license_expires":1900000000,"trial":true,"features":{"user_limit":100},"exp":1}`)) + ".c2lnbmF0dXJl"
	file := filepath.Join(t.TempDir(), "license")
	h.must(os.WriteFile(file, []byte(jwt+"\n"), 0o600))
	if out, errs := h.ok("licenses", "add", "-f", file, "--debug"); !strings.Contains(out, "1900000000") || !strings.Contains(errs, "no license is needed") {
		t.Errorf("add: %q, %q", out, errs)
	}
	h.ok("licenses", "add", "-l", "any-text")
	for _, c := range []struct{ line, says string }{
		{"licenses add -l " + jwt, "already exists"},
		{"licenses add -l x -f y", "mutually exclusive"},
		{"licenses add -f /nowhere/license", "/nowhere/license"},
		{"licenses add", "use --file or --license"},
		{"licenses add -l " + strings.Repeat("x", 65<<10), "at most 65536 bytes"},
		{"licenses delete x", "not a license ID"},
		{"licenses delete 4711", "License 4711 not found"},
	} {
		if _, errs, status := h.run(strings.Fields(c.line)...); status != 1 || !strings.Contains(errs, c.says) {
			t.Errorf("%.40s: status %d, %q, want %q", c.line, status, errs, c.says)
		}
	}

	var rows []struct {
		ID     int32
		UUID   string
		Claims map[string]any
	}
	out, _ := h.ok("licenses", "list", "-o", "json")
	h.must(json.Unmarshal([]byte(out), &rows))
	if len(rows) != 2 || rows[0].Claims["license_expires"] != 1.9e9 || rows[1].Claims["license_expires"] != 253402300799.0 || rows[0].UUID == "" {
		t.Errorf("the list: %s", out)
	}
	out, _ = h.ok("licenses", "list", "-c", "id,expires at,features,trial")
	if !strings.Contains(out, time.Unix(1_900_000_000, 0).Format(time.DateTime)) || !strings.Contains(out, "user_limit=100") || !strings.Contains(out, "never") || !strings.Contains(out, "true") {
		t.Errorf("the table:\n%s", out)
	}
	h.ok("licenses", "delete", "1")
	h.ok("license", "rm", "2")

	after, err := h.Client.Entitlements(t.Context())
	h.must(err)
	if len(after.Features) != len(before.Features) || after.HasLicense != before.HasLicense {
		t.Errorf("entitlements changed: %+v, before %+v", after, before)
	}
	logs, err := h.Client.AuditLogs(t.Context(), url.Values{"q": {"resource_type:license"}})
	h.must(err)
	if len(logs.AuditLogs) != 4 {
		t.Errorf("%d entries in the audit log, want 4", len(logs.AuditLogs))
	}
	member, _ := h.Member(t, "ann")
	if _, err := member.AddLicense(t.Context(), codersdk.AddLicenseRequest{License: "x"}); !codersdk.Is(err, codersdk.CodeForbidden) {
		t.Errorf("a member adds a license: %v", err)
	}
}
