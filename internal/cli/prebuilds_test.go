package cli

import (
	"strings"
	"testing"
)

func TestPrebuildBudget(t *testing.T) {
	h := newHouse(t, nil)
	h.template("stock", map[string]string{"apply.start.jsonl": "{}\n"})
	h.ok("templates", "edit", "stock", "--prebuild-budget", "20", "-y")
	h.ok("templates", "edit", "stock", "--description", "kept", "-y")
	all, err := h.Client.Templates(t.Context(), nil)
	h.must(err)
	if len(all) != 1 || all[0].PrebuildBudget != 20 {
		t.Errorf("the templates: %+v", all)
	}
	if _, errs, status := h.run("templates", "edit", "stock", "--prebuild-budget", "-1", "-y"); status == 0 || !strings.Contains(errs, "prebuild_budget") {
		t.Errorf("a budget of -1: status %d, %s", status, errs)
	}
}

func TestPrebuildsPauseAndResume(t *testing.T) {
	h := newHouse(t, nil)
	for _, command := range []string{"pause", "pause", "resume"} { // twice is no mistake
		out, _ := h.ok("prebuilds", command)
		now, err := h.Client.PrebuildsSettings(t.Context())
		h.must(err)
		if out == "" || now.ReconciliationPaused != (command == "pause") {
			t.Errorf("%s: %q, paused %t", command, out, now.ReconciliationPaused)
		}
	}
}
