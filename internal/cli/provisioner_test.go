package cli

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/telemetry"
)

// keyOf states whose secret that is, as a provisioner asks.
func (h *house) keyOf(secret string) error {
	h.t.Helper()
	resp, err := h.Client.Request(h.t.Context(), "GET", "/provisionerkeys/"+secret, nil, nil)
	h.must(err)
	defer resp.Body.Close() //nolint:errcheck // it was read
	if resp.StatusCode >= 300 {
		return codersdk.Errorf(codersdk.CodeUnauthenticated, "%s", resp.Status)
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
	if second == "" || second == first || strings.Contains(errs, second) || !strings.Contains(errs, "remains valid until") {
		t.Fatalf("the second key is %q, beside it %q", second, errs)
	}
	for _, k := range []string{first, second} {
		h.must(h.keyOf(k))
	}
	table, _ := h.ok("provisioner", "keys", "list")
	lines := strings.Split(strings.TrimSpace(table), "\n")
	if len(lines) < 3 || !strings.HasPrefix(lines[0], "CREATED AT") || !strings.Contains(lines[0], "EXPIRES AT") || !strings.Contains(lines[0], "LAST USED AT") {
		t.Errorf("the list is\n%s", table)
	}
	asJSON, _ := h.ok("provisioner", "keys", "list", "-o", "json")
	var keys []codersdk.ProvisionerKey
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
	if !strings.Contains(errs, "is revoked") {
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
		"rotate lisbon --grace -1h":        "--grace -1h0m0s is not a non-negative number of whole seconds",
		"rotate lisbon --grace 1500ms":     "--grace 1.5s is not a non-negative number of whole seconds",
		"rotate lisbon --grace 11y":        "--grace",
		"rotate lisbon --grace 4000d":      "exceeds the limit of ten years",
		"rotate lisbon --expires-in -1s":   "--expires-in -1s is not",
		"rotate porto":                     "provisioner key \"porto\" not found",
		"rotate built-in":                  "built-in",
		"rotate":                           "takes 1 argument, got 0",
		"create porto --expires-in 87601h": "exceeds the limit of ten years",
		"create porto --tag scope=user":    "scope",
		"create porto --tag nonsense":      "--tag \"nonsense\" must be key=value",
		"create LISBON":                    "already exists",
		"create psk":                       "reserved",
		"delete porto --yes":               "provisioner key \"porto\" not found",
		"create porto --org elsewhere":     "organization \"elsewhere\" not found",
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
	none := newHouse(t, func(c *server.Config) { c.Provisioning.Daemons = 0 })
	if _, errs := none.ok("provisioner", "list"); !strings.Contains(errs, "EPD01 No provisioner is connected") {
		t.Errorf("it says %q", errs)
	}
	if _, errs := none.ok("provisioner", "list", "--status", "busy"); strings.Contains(errs, "EPD01") {
		t.Errorf("it says %q of a part", errs)
	}
}

// onPrem is a template whose builds nobody takes: the built-in provisioners
// have no tags.
var onPrem = map[string]string{
	"parse.jsonl": `{"complete": {"workspaceTags": {"environment": "\"on-prem\""}}}`,
}

// TestWhyPending: what waits for nobody says so at once, with the line that
// would help; so do the explanation and the queue. (PRV-29)
func TestWhyPending(t *testing.T) {
	h := newHouse(t, nil)
	h.template("remote", onPrem)
	const fix = "coder provisioner start --tag environment=on-prem"
	b := h.start("create", "dev", "-t", "remote", "--yes")
	h.until("the warning came", func() bool { return strings.Contains(b.said(), fix) })
	if said := b.said(); strings.Count(said, "warning: No provisioner takes jobs") != 1 || !strings.Contains(said, `tags = {} in data "coder_workspace_tags"`) {
		t.Errorf("create says\n%s", said)
	}
	w, err := h.Client.WorkspaceByOwnerAndName(t.Context(), "me", "dev", nil)
	h.must(err)
	job := w.LatestBuild.Job.ID.String()
	out, _ := h.ok("provisioner", "jobs", "explain", job)
	for _, want := range []string{
		"The job is pending because no connected provisioner accepts it.\n", "Job " + job + ` is pending; its tags: {"environment":"on-prem"}.`, "position 1 of 1",
		"PROVISIONER", "REASON", "idle", "tag missing", "It lacks the tag environment=on-prem.", "To start a provisioner that accepts the job:\n  " + fix + "\n", "Or change the template",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the explanation lacks %q:\n%s", want, out)
		}
	}
	out, _ = h.ok("provisioner", "jobs", "explain", job, "-o", "json")
	var e codersdk.ProvisionerJobExplanation
	if err := json.Unmarshal([]byte(out), &e); err != nil || e.JobID.String() != job || e.NearestMiss == nil || e.NearestMiss.Fix != fix || len(e.Daemons) != 1 {
		t.Errorf("as JSON: %v, %s", err, out)
	}
	out, _ = h.ok("provisioner", "queue")
	lines := strings.Split(out, "\n")
	if want := strings.Fields(`{"environment":"on-prem"} 1 0 0 0/0`); len(lines) < 3 || strings.Join(strings.Fields(lines[1])[:5], " ") != strings.Join(want, " ") {
		t.Errorf("the queue is\n%s", out)
	}
	var q codersdk.ProvisionerQueue
	out, _ = h.ok("provisioner", "queue", "-o", "json")
	if err := json.Unmarshal([]byte(out), &q); err != nil || q.Count != len(q.TagSets) || q.TagSets[0].RecommendedSlots != 1 {
		t.Errorf("as JSON: %v, %s", err, out)
	}
	h.ok("provisioner", "jobs", "cancel", job)
	if status := <-b.done; status != 1 || !strings.Contains(b.said(), "canceled") {
		t.Errorf("create ends with %d\n%s", status, b.said())
	}
	if out, _ = h.ok("provisioner", "jobs", "explain", job); !strings.Contains(out, "It does not wait: it was canceled") {
		t.Errorf("a job that was canceled is explained so:\n%s", out)
	}
	if out, errs := h.ok("start", "dev", "--no-wait"); !strings.Contains(errs, "warning: No provisioner takes jobs") || !strings.Contains(out, "is starting") {
		t.Errorf("a start that is not waited for says %q, %q", out, errs)
	}
}

// TestWhyPendingIsToldOnChange: a reason that comes while a command waits is
// told when it comes, once.
func TestWhyPendingIsToldOnChange(t *testing.T) {
	h := newHouse(t, func(c *server.Config) { c.Provisioning.Daemons = 0 })
	dir := t.TempDir()
	h.must(os.WriteFile(dir+"/main.tf", []byte("terraform {}\n"), 0o600))
	b := h.start("templates", "push", "plain", "-d", dir, "--yes")
	h.until("the warning came", func() bool { return strings.Contains(b.said(), "No provisioner is connected to this organization") })
	key, err := h.Client.CreateProvisionerKey(t.Context(), "default", codersdk.CreateProvisionerKeyRequest{Name: "lisbon", Tags: map[string]string{"dc": "lisbon"}})
	h.must(err)
	d := h.start("provisioner", "start", "--key", key.Key, "--name", "tagged", "--provisioner-types", "echo", "--cache-dir", t.TempDir())
	h.until("the other reason came", func() bool { return strings.Contains(b.said(), `The nearest is "tagged"`) })
	if said := b.said(); strings.Count(said, "No provisioner is connected") != 1 || strings.Count(said, "The nearest is") != 1 {
		t.Errorf("push says\n%s\nthe provisioner says\n%s", said, d.said())
	}
	b.stop()
	if status := <-b.done; status != 130 {
		t.Errorf("push ends with %d\n%s", status, b.said())
	}
	d.stop()
	<-d.done
}

// TestLogsNameOnce: what the server and its provisioners log has each key once.
func TestLogsNameOnce(t *testing.T) {
	var said background
	h := newHouse(t, func(c *server.Config) {
		var err error
		c.Log, _, err = telemetry.NewLogger(telemetry.LogConfig{Human: "/dev/stderr", Verbose: true, Stderr: &said})
		if err != nil {
			t.Fatal(err)
		}
	})
	key, err := h.Client.CreateProvisionerKey(t.Context(), "default", codersdk.CreateProvisionerKeyRequest{Name: "lisbon", Tags: map[string]string{"dc": "lisbon"}})
	h.must(err)
	d := h.start("provisioner", "start", "--key", key.Key, "--name", "tagged", "--provisioner-types", "echo", "--cache-dir", t.TempDir(), "--concurrency", "2")
	h.until("it connected", func() bool { return strings.Count(d.said(), "successfully connected to coderd") == 2 })
	h.template("plain", map[string]string{"readme.md": "Nothing."})
	d.stop()
	<-d.done
	h.until("it was seen off", func() bool { return strings.Contains(said.said(), "provisioner disconnected") })
	for line := range strings.Lines(said.said() + d.said()) {
		seen := map[string]bool{}
		for _, key := range regexp.MustCompile(` [a-z_]+=`).FindAllString(line, -1) {
			if seen[key] {
				t.Errorf("%s is there twice: %s", key, line)
			}
			seen[key] = true
		}
	}
}
