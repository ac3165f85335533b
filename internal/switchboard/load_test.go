//go:build !race

package switchboard_test

import (
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

// TestThousandTunnels opens as many tunnels to one agent as it may have: one more
// receives the reason while the others go on. The race detector takes minutes for
// this; TestManyTunnels runs with it.
func TestThousandTunnels(t *testing.T) {
	w, carries := manyTunnels(t, 1000)
	extra, err := tunnel.Dial(t.Context(), w.config(w.grant(tunnel.KindSSH)))
	if err == nil {
		_ = extra.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "Too many connections to this agent") {
		t.Errorf("one more tunnel: got %v", err)
	}
	ok(t, carries())
}
