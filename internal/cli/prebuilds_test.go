package cli

import "testing"

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
