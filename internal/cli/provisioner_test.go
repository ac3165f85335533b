package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/server"
)

// keyOf says whose secret that is, as a provisioner asks.
func (h *house) keyOf(secret string) error {
	h.t.Helper()
	resp, err := h.Client.Request(h.t.Context(), "GET", "/provisionerkeys/"+secret, nil, nil)
	h.must(err)
	defer resp.Body.Close() //nolint:errcheck // it was read
	if resp.StatusCode >= 300 {
		return coder.Errorf(coder.CodeUnauthenticated, "%s", resp.Status)
	}
	return nil
}

// TestKeysOverlap: a rotation prints the new secret alone, the old one is good
// for the grace, and the list shows both with their end and never a secret.
func TestKeysOverlap(t *testing.T) {
	h := newHouse(t, nil)
	first, errs := h.ok("provisioner", "keys", "create", "lisbon", "--tag", "dc=lisbon", "--expires-in", "30d")
	first = strings.TrimSpace(first)
	if first == "" || strings.ContainsAny(first, " \n") || strings.Contains(errs, first) || !strings.Contains(errs, "CODER_PROVISIONER_DAEMON_KEY=") {
		t.Fatalf("the first key is %q, beside it %q", first, errs)
	}
	second, errs := h.ok("provisioner", "keys", "rotate", "lisbon", "--grace", "1h")
	second = strings.TrimSpace(second)
	if second == "" || second == first || strings.Contains(errs, second) || !strings.Contains(errs, "stays good until") {
		t.Fatalf("the second key is %q, beside it %q", second, errs)
	}
	for _, k := range []string{first, second} {
		h.must(h.keyOf(k))
	}
	table, _ := h.ok("provisioner", "keys", "list")
	lines := strings.Split(strings.TrimSpace(table), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], "CREATED AT") || !strings.Contains(lines[0], "EXPIRES AT") || !strings.Contains(lines[0], "LAST USED AT") {
		t.Errorf("the list is\n%s", table)
	}
	asJSON, _ := h.ok("provisioner", "keys", "list", "-o", "json")
	var keys []coder.ProvisionerKey
	if err := json.Unmarshal([]byte(asJSON), &keys); err != nil || len(keys) != 2 || strings.Contains(asJSON, first) || strings.Contains(asJSON, second) {
		t.Fatalf("the list is %s, %v", asJSON, err)
	}
	for _, k := range keys {
		at := 30 * 24 * time.Hour
		if k.ReplacedAt != nil {
			at = time.Hour
		}
		if k.Name != "lisbon" || k.Tags["dc"] != "lisbon" || k.ExpiresAt == nil || time.Until(*k.ExpiresAt) > at || time.Until(*k.ExpiresAt) < at-time.Hour/2 {
			t.Errorf("the key is %+v", k)
		}
	}
	third, errs := h.ok("provisioner", "keys", "rotate", "lisbon", "--grace", "0")
	if !strings.Contains(errs, "is not good any more") {
		t.Errorf("a rotation at once says %q", errs)
	}
	if h.keyOf(second) == nil {
		t.Error("the replaced key is good after a grace of 0")
	}
	h.must(h.keyOf(strings.TrimSpace(third)))
	h.ok("provisioner", "keys", "delete", "lisbon", "--yes")
	for _, k := range []string{first, second, strings.TrimSpace(third)} {
		if h.keyOf(k) == nil {
			t.Error("a key of a deleted name is good")
		}
	}
}

func TestKeysRefuse(t *testing.T) {
	h := newHouse(t, nil)
	h.ok("provisioner", "keys", "create", "lisbon")
	for line, want := range map[string]string{
		"rotate lisbon --grace -1h":        "--grace -1h0m0s is not a number of whole seconds from 0",
		"rotate lisbon --grace 1500ms":     "--grace 1.5s is not a number of whole seconds",
		"rotate lisbon --grace 11y":        "--grace",
		"rotate lisbon --grace 4000d":      "is longer than ten years",
		"rotate lisbon --expires-in -1s":   "--expires-in -1s is not",
		"rotate porto":                     "porto",
		"rotate built-in":                  "built-in",
		"rotate":                           "takes 1 argument, got 0",
		"create porto --expires-in 87601h": "is longer than ten years",
		"create porto --tag scope=user":    "scope",
		"create porto --tag nonsense":      "--tag \"nonsense\" must be key=value",
		"create LISBON":                    "isbon",
		"create psk":                       "reserved",
		"delete porto --yes":               "porto",
		"create porto --org elsewhere":     "no organization \"elsewhere\"",
	} {
		out, errs, status := h.run(append([]string{"provisioner", "keys"}, strings.Fields(line)...)...)
		if status != 1 || out != "" || !strings.Contains(errs, want) || strings.Count(errs, "\n") > 2 {
			t.Errorf("keys %s: status %d, %q, %q, want %q", line, status, out, errs, want)
		}
	}
}

func TestProvisionerListWarns(t *testing.T) {
	h := newHouse(t, nil)
	h.until("the built-in provisioner came", func() bool {
		out, _ := h.ok("provisioner", "list", "-c", "name,status")
		return strings.Contains(out, "idle")
	})
	if _, errs := h.ok("provisioner", "list"); errs != "" {
		t.Errorf("it warns: %q", errs)
	}
	none := newHouse(t, func(c *server.Config) { c.ProvisionerDaemons = 0 })
	if _, errs := none.ok("provisioner", "list"); !strings.Contains(errs, "EPD01 no provisioner of organization") {
		t.Errorf("it says %q", errs)
	}
	if _, errs := none.ok("provisioner", "list", "--status", "busy"); strings.Contains(errs, "EPD01") {
		t.Errorf("it says %q of a part", errs)
	}
}
