package provisionapi_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/internal/echo"
	daemon "github.com/seed-2a7f8fe7/coder/internal/provisionerd"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
)

// quiet starts a daemon that says nothing of itself that it need not.
func (h *house) quiet(t testing.TB) {
	t.Helper()
	d, err := daemon.New(daemon.Config{
		Dial: daemon.Pipe(h.serve), Name: "builtin", Engines: map[string]provisioner.Engine{"echo": echo.Engine{}}, UpdateInterval: time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestCancelIsPushed interrupts a job that would say nothing for an hour.
func TestCancelIsPushed(t *testing.T) {
	h := newHouse(t, queue.Config{Lease: 3 * time.Hour})
	h.quiet(t)
	id := h.add(t, build, map[string]string{"apply.jsonl": `{"state": "half", "log": {"output": "here"}}` + "\n" + `{"hang": true}`})
	h.says(t, id, "here")
	began := time.Now()
	h.cancel(t, id)
	j, _ := h.ends(t, id)
	took := time.Since(began)
	t.Logf("from the cancel to its end: %s", took)
	if j.Status != coder.ProvisionerJobStatusCanceled || took > 500*time.Millisecond {
		t.Errorf("job ended as %s after %s", j.Status, took)
	}
	if state := string(h.failed[id].GetWorkspaceBuild().GetState()); state != "half" {
		t.Errorf("the state after an interrupted apply is %q", state)
	}
}

// TestStateIsTold at once while the apply still runs.
func TestStateIsTold(t *testing.T) {
	h := newHouse(t, queue.Config{Lease: 3 * time.Hour})
	h.quiet(t)
	id := h.add(t, build, map[string]string{"apply.jsonl": `{"state": "half"}` + "\n" + `{"hang": true}`})
	began, tick := time.Now(), time.NewTicker(5*time.Millisecond)
	defer tick.Stop()
	for h.state(t, id) != "half" {
		if time.Since(began) > 20*time.Second {
			t.Fatal("the state is not told")
		}
		<-tick.C
	}
	t.Logf("from the job to its first state here: %s", time.Since(began))
	h.cancel(t, id)
	h.ends(t, id)
}

func (h *house) state(t testing.TB, id uuid.UUID) string {
	t.Helper()
	h.mu.Lock()
	packed := h.told[id]
	h.mu.Unlock()
	if packed == nil {
		return ""
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
