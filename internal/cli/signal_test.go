//go:build unix

package cli

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/testport"
)

const housePSK = "a long pre-shared key"

// process is a provisioner in a process of its own.
type process struct {
	background
	cmd *exec.Cmd
}

func (h *house) provisioner(args ...string) *process {
	h.t.Helper()
	p := &process{cmd: exec.Command("coder", append([]string{"provisioner", "start", "--provisioner-types", "echo", "--cache-dir", h.t.TempDir()}, args...)...)}
	p.cmd.Env = append(h.env(), "PATH="+os.Getenv("PATH"))
	p.cmd.Stdout, p.cmd.Stderr = p, p
	h.must(p.cmd.Start())
	p.done = make(chan int, 1)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err := p.cmd.Wait()
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			p.done <- exit.ExitCode()
			return
		}
		p.done <- 0
	}()
	h.t.Cleanup(func() { p.cmd.Process.Kill(); <-ended }) //nolint:errcheck // it may be gone
	return p
}

// TestSignals sends each documented signal to a provisioner in the middle of a
// build: SIGTERM and SIGHUP let it finish, SIGINT cancels it, an interrupt
// after SIGTERM too. Then it is gone, and takes nothing more.
func TestSignals(t *testing.T) {
	h := newHouse(t, func(c *server.Config) { c.Provisioning.Daemons, c.Provisioning.PSK = 0, housePSK })
	address := testport.FreeAddress(t)
	first := h.provisioner("--psk", housePSK, "--name", "importer", "--prometheus-enable", "--prometheus-address", address)
	h.template("short", map[string]string{"apply.start.jsonl": `{"log": {"level": "INFO", "output": "begun"}}` + "\n" + `{"sleep": "5s"}` + "\n"})
	h.template("endless", map[string]string{"apply.start.jsonl": `{"log": {"level": "INFO", "output": "begun"}}` + "\n" + `{"state": "half"}` + "\n" + `{"hang": true}` + "\n"})
	resp, err := http.Get("http://" + address + "/metrics")
	h.must(err)
	metrics, err := io.ReadAll(resp.Body)
	h.must(err)
	resp.Body.Close()
	if !strings.Contains(string(metrics), "coderd_provisionerd_num_daemons 1\n") || !strings.Contains(string(metrics), "coderd_provisionerd_job_timings_seconds_count{") {
		t.Errorf("its metrics are\n%.2000s", metrics)
	}
	h.must(first.cmd.Process.Signal(syscall.SIGTERM))
	if status := <-first.done; status != 0 {
		t.Fatalf("an idle provisioner ends with %d\n%s", status, first.said())
	}
	for _, c := range []struct {
		name, template string
		signals        []syscall.Signal
		want           codersdk.ProvisionerJobStatus
	}{
		{"term", "short", []syscall.Signal{syscall.SIGTERM}, codersdk.ProvisionerJobStatusSucceeded},
		{"hup", "short", []syscall.Signal{syscall.SIGHUP}, codersdk.ProvisionerJobStatusSucceeded},
		{"int", "endless", []syscall.Signal{syscall.SIGINT}, codersdk.ProvisionerJobStatusFailed},
		{"term-int", "endless", []syscall.Signal{syscall.SIGTERM, syscall.SIGINT}, codersdk.ProvisionerJobStatusFailed},
	} {
		p := h.provisioner("--psk", housePSK, "--name", c.name)
		create := h.start("create", c.name, "--template", c.template, "-y")
		h.until(c.name+" begins", func() bool { return strings.Contains(create.said(), "begun") })
		for _, s := range c.signals {
			h.must(p.cmd.Process.Signal(s))
			if s != syscall.SIGINT {
				h.until(c.name+" hears it", func() bool { return strings.Contains(p.said(), "finishing current jobs") })
			}
		}
		if status := <-p.done; status != 0 {
			t.Errorf("%s: the provisioner ends with %d\n%s", c.name, status, p.said())
		}
		w, err := h.Client.WorkspaceByOwnerAndName(t.Context(), "me", c.name, nil)
		h.must(err)
		if j := w.LatestBuild.Job; j.Status != c.want || j.WorkerName != c.name {
			t.Errorf("%s: the build is %s on %q: %s", c.name, j.Status, j.WorkerName, j.Error)
		}
		if c.want == codersdk.ProvisionerJobStatusFailed {
			if state, _ := h.ok("state", "pull", c.name); state != "half" {
				t.Errorf("%s: of its state %q is left", c.name, state)
			}
		}
		create.stop()
		<-create.done
	}
	list, _ := h.ok("provisioner", "list", "--show-offline", "-o", "json")
	var ds []codersdk.ProvisionerDaemon
	if err := json.Unmarshal([]byte(list), &ds); err != nil || len(ds) != 5 {
		t.Errorf("the list is %s", list)
	}
	for _, d := range ds {
		if d.Status != codersdk.ProvisionerDaemonStatusOffline {
			t.Errorf("%s is %s", d.Name, d.Status)
		}
	}
}

// TestRefusedProvisioners: each ends with the reason, on one line, and the
// others go on.
func TestRefusedProvisioners(t *testing.T) {
	h := newHouse(t, func(c *server.Config) { c.Provisioning.PSK = housePSK })
	key := func(name string) string {
		secret, _ := h.ok("provisioner", "keys", "create", name)
		return strings.TrimSpace(secret)
	}
	good, revoked, expired := key("good"), key("revoked"), key("expired")
	h.ok("provisioner", "keys", "delete", "revoked", "-y")
	h.sql(`UPDATE provisioner_keys SET expires_at = now() - interval '1 second' WHERE name = 'expired'`)
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"wrong PSK":    {[]string{"--psk", housePSK + "x"}, "PSK is wrong; use the PSK of this server"},
		"wrong key":    {[]string{"--key", "nonsense"}, "key"},
		"half a key":   {[]string{"--key", good[:len(good)-1]}, "key"},
		"revoked key":  {[]string{"--key", revoked}, "key"},
		"expired key":  {[]string{"--key", expired}, "expired"},
		"id for a key": {[]string{"--key", uuid.NewString()}, "key"},
		"key and PSK":  {[]string{"--key", good, "--psk", housePSK}, "mutually exclusive"},
	} {
		p := h.provisioner(c.args...)
		status := <-p.done
		said := p.said()
		if status == 0 || !strings.Contains(said, c.says) || strings.Contains(said, "trying again") || strings.Count(said, "error: ") != 1 {
			t.Errorf("%s: status %d\n%s", name, status, said)
		}
		for _, secret := range []string{housePSK, good, revoked, expired} {
			if strings.Contains(said, secret) {
				t.Errorf("%s: it says a secret", name)
			}
		}
	}
	h.template("works", map[string]string{"README.md": "x"})
}

// TestPSKServesEveryOrganization checks that a provisioner with the PSK serves
// the organization that --org names.
func TestPSKServesEveryOrganization(t *testing.T) {
	h := newHouse(t, func(c *server.Config) { c.Provisioning.Daemons, c.Provisioning.PSK = 0, housePSK })
	h.ok("organizations", "create", "second", "-y")
	p := h.provisioner("--psk", housePSK, "--org", "second", "--name", "far")
	h.until("the provisioner serves the second organization", func() bool {
		list, _ := h.ok("provisioner", "list", "--org", "second", "-o", "json")
		return strings.Contains(list, `"far"`)
	})
	if list, _ := h.ok("provisioner", "list", "--org", "coder", "-o", "json"); strings.Contains(list, `"far"`) {
		t.Errorf("it serves the first organization, too: %s", list)
	}
	leaves := time.Now()
	h.must(p.cmd.Process.Signal(syscall.SIGTERM))
	if status := <-p.done; status != 0 {
		t.Errorf("it ends with %d\n%s", status, p.said())
	}
	// The server sees the end of the connection after the process has ended.
	h.until("the list shows when it left", func() bool {
		list, _ := h.ok("provisioner", "list", "--org", "second", "--show-offline", "-o", "json")
		var gone []codersdk.ProvisionerDaemon
		h.must(json.Unmarshal([]byte(list), &gone))
		return len(gone) == 1 && gone[0].LastSeenAt.After(leaves) && gone[0].Status == codersdk.ProvisionerDaemonStatusOffline
	})
}
