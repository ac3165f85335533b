package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// jobs returns the jobs of the default organization, the newest first.
func (h *house) jobs() []codersdk.ProvisionerJob {
	h.t.Helper()
	jobs, err := h.Client.ProvisionerJobs(h.t.Context(), "default", nil)
	h.must(err)
	return jobs
}

// TestWhyHeld: a build beyond its template's cap says so while it is waited
// for, again when its place changes, and in its explanation.
func TestWhyHeld(t *testing.T) {
	h := newHouse(t, nil)
	h.template("capped", map[string]string{"apply.start.jsonl": `{"hang": true}` + "\n"})
	if _, errs, status := h.run("templates", "edit", "capped", "--max-concurrent-builds", "-1", "-y"); status == 0 || !strings.Contains(errs, "max_concurrent_builds") {
		t.Errorf("a cap of -1: status %d, %s", status, errs)
	}
	h.ok("templates", "edit", "capped", "--max-concurrent-builds", "1", "-y")
	h.start("create", "one", "--template", "capped", "-y")
	h.until("the first runs", func() bool { return h.jobs()[0].Status == codersdk.ProvisionerJobStatusRunning })
	first := h.jobs()[0].ID
	two := h.start("create", "two", "--template", "capped", "-y")
	next := "It is held back: The template capped allows one build at a time, and one is under way; this build is next when it ends."
	h.until("the second says why", func() bool { return strings.Contains(two.said(), next) })
	second := h.jobs()[0].ID
	three := h.start("create", "three", "--template", "capped", "-y")
	h.until("the third says why", func() bool {
		return strings.Contains(three.said(), "this build is number 2 of those that wait for it to end.")
	})
	third := h.jobs()[0].ID

	out, _ := h.ok("provisioner", "jobs", "explain", second.String())
	for _, want := range []string{next, "is pending; its tags: none.", "To allow one more concurrent build of the template:\n  coder templates edit capped --max-concurrent-builds 2\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("the explanation lacks %q:\n%s", want, out)
		}
	}
	out, _ = h.ok("provisioner", "queue", "-o", "json")
	var q codersdk.ProvisionerQueue
	if err := json.Unmarshal([]byte(out), &q); err != nil || len(q.TagSets) != 1 || q.TagSets[0].Held != 2 || q.TagSets[0].Pending != 0 || q.TagSets[0].RecommendedSlots != 1 {
		t.Errorf("the queue is %s, %v", out, err)
	}
	h.ok("provisioner", "jobs", "cancel", first.String())
	h.until("the second is let go and the third is next", func() bool { return strings.Contains(three.said(), "this build is next when it ends.") })
	for _, id := range []uuid.UUID{third, second} {
		h.ok("provisioner", "jobs", "cancel", id.String())
	}
}

// TestQueueTarget: the target is sent on, and nonsense is not.
func TestQueueTarget(t *testing.T) {
	h := newHouse(t, nil)
	for _, bad := range []string{"0s", "1500ms", "25h", "soon"} {
		if _, errs, status := h.run("provisioner", "queue", "--target", bad); status == 0 || !strings.Contains(errs, "--target") {
			t.Errorf("--target %s: status %d, %s", bad, status, errs)
		}
	}
	out, _ := h.ok("provisioner", "queue", "--target", "10s", "-c", "tags,recommended slots")
	if !strings.Contains(out, "RECOMMENDED SLOTS") {
		t.Errorf("the queue is\n%s", out)
	}
}

// TestOrganizationsEdit: the flags that are given change, the others do not.
func TestOrganizationsEdit(t *testing.T) {
	h := newHouse(t, nil)
	h.ok("organizations", "create", "acme", "-y")
	for args, want := range map[string]string{
		"":                            "nothing to change",
		"--provisioner-weight 101":    "101 is out of range; use 0 to 100",
		"--provisioner-weight lots":   "not an integer",
		"--name default -y":           "reserved for the default organization",
		"--provisioner-weight -1 -y":  "-1 is out of range",
		"--provisioner-weight=0 -y x": "",
	} {
		if _, errs, status := h.run(append([]string{"organizations", "edit", "acme"}, strings.Fields(args)...)...); status == 0 || !strings.Contains(errs, want) {
			t.Errorf("%s: status %d, %s", args, status, errs)
		}
	}
	v := h.push("acme", map[string]string{"README.md": "x"}, nil)
	out, _ := h.ok("provisioner", "jobs", "explain", v.Job.ID.String(), "--org", "acme")
	if !strings.Contains(out, "To let the built-in provisioners serve this organization:\n  coder organizations edit acme --provisioner-weight 1\n") {
		t.Errorf("the explanation is\n%s", out)
	}
	h.ok("organizations", "edit", "acme", "--provisioner-weight", "3", "--display-name", "The Acme", "-y")
	if out, _ := h.ok("organizations", "list", "-c", "name,display name,provisioner weight"); !strings.Contains(strings.Join(strings.Fields(out), " "), "acme The Acme 3") {
		t.Errorf("the list is\n%s", out)
	}
	h.until("its job is taken", func() bool {
		j, err := h.Client.ProvisionerJob(t.Context(), "acme", v.Job.ID)
		h.must(err)
		return j.Status == codersdk.ProvisionerJobStatusSucceeded
	})
	if out, _ := h.ok("provisioner", "list", "--org", "acme"); !strings.Contains(out, "built-in") {
		t.Errorf("its provisioners are\n%s", out)
	}
}
