package provisionapi_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	daemon "github.com/seed-2a7f8fe7/coder/internal/provisionerd"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// gate is an engine whose jobs wait until they are let go.
type gate struct{ entered, free chan struct{} }

func (g gate) Open(ctx context.Context, _ *provisioner.Config, _ func(*provisioner.Log)) (provisioner.Session, error) {
	g.entered <- struct{}{}
	select {
	case <-g.free:
	case <-ctx.Done():
	}
	return nil, errors.New("nothing is behind the gate")
}

// TestSlots wants four jobs at once on one daemon of four slots, one row of
// it, and busy only when all four are.
func TestSlots(t *testing.T) {
	h := newTown(t)
	g := gate{make(chan struct{}, 8), make(chan struct{})}
	w := daemon.WebSocket{Client: h.client, Name: "four", Provisioners: []string{"echo"}, PSK: psk, Slots: 4, Tools: []string{"terraform/1.11.4"}}
	d, err := daemon.NewSlots(4, daemon.Config{Dial: w.Dial, Name: "four", Engines: map[string]provisioner.Engine{"echo": g}})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), testwait.Limit)
		defer cancel()
		if err := d.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	var jobs []uuid.UUID
	for n := range 5 {
		jobs = append(jobs, h.add(t, codersdk.ProvisionerJobTypeWorkspaceBuild, nil))
		if n < 4 {
			testwait.Receive(t, "a slot takes the job", g.entered)
		}
		if n == 2 {
			if v := h.onlyDaemon(t); v.Slots != 4 || v.BusySlots != 3 || v.Status != codersdk.ProvisionerDaemonStatusIdle || len(v.Tools) != 1 {
				t.Errorf("with three jobs: %+v", v)
			}
		}
	}
	if v := h.onlyDaemon(t); v.BusySlots != 4 || v.Status != codersdk.ProvisionerDaemonStatusBusy {
		t.Errorf("with four jobs: %+v", v)
	}
	close(g.free)
	testwait.Receive(t, "a slot takes the job", g.entered) // the fifth
	for _, id := range jobs {
		h.ends(t, id)
	}
}

func (h *house) onlyDaemon(t *testing.T) codersdk.ProvisionerDaemon {
	t.Helper()
	list, err := h.queue.Daemons(t.Context(), access.System(), h.org, queue.DaemonFilter{})
	if err != nil || len(list) != 1 {
		t.Fatalf("got daemons %v, %v", list, err)
	}
	return list[0]
}
