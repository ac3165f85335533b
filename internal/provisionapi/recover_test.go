package provisionapi_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"storj.io/drpc"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/echo"
	daemon "github.com/seed-2a7f8fe7/coder/internal/provisionerd"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
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

// TestCancelIsPushed interrupts a job whose daemon would not ask for an hour.
func TestCancelIsPushed(t *testing.T) {
	h := newHouse(t, queue.Config{Lease: 3 * time.Hour})
	h.quiet(t)
	id := h.add(t, build, map[string]string{"apply.jsonl": `{"state": "half", "log": {"output": "here"}}` + "\n" + `{"hang": true}`})
	h.says(t, id, "here")
	h.cancel(t, id)
	if j, _ := h.ends(t, id); j.Status != codersdk.ProvisionerJobStatusCanceled {
		t.Errorf("job ended as %s: %s", j.Status, j.Error)
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
	began := time.Now()
	testwait.Until(t, "the state is reported", func() bool { return h.state(t, id) == "half" })
	t.Logf("from the job to its first state here: %s", time.Since(began))
	h.cancel(t, id)
	h.ends(t, id)
}

// left is an engine that holds the state of a job of an earlier process.
type left struct {
	echo.Engine
	claim string
	taken chan error
}

func (l left) Leftovers(take func(claim string, state []byte) error) error {
	err := take(l.claim, []byte(`{}`))
	l.taken <- err
	return err
}

// counting counts the calls of one method.
type counting struct {
	drpc.Conn
	method string
	n      *atomic.Int32
}

func (c counting) Invoke(ctx context.Context, rpc string, enc drpc.Encoding, in, out drpc.Message) error {
	if strings.HasSuffix(rpc, "/"+c.method) {
		c.n.Add(1)
	}
	return c.Conn.Invoke(ctx, rpc, enc, in, out)
}

// TestStaleStateIsOfferedOnce has a daemon find a state that its workspace has
// gone on without.
func TestStaleStateIsOfferedOnce(t *testing.T) {
	h := newHouse(t, queue.Config{Lease: 3 * time.Hour})
	id := h.add(t, build, nil)
	var calls atomic.Int32
	dial := daemon.Pipe(h.serve)
	engine := left{claim: fmt.Sprintf(`{"job": %q, "fence": 1000}`, id), taken: make(chan error, 10)}
	d, err := daemon.New(daemon.Config{
		Dial: func(ctx context.Context) (drpc.Conn, error) {
			c, err := dial(ctx)
			return counting{c, "Recover", &calls}, err
		}, Name: "builtin", Engines: map[string]provisioner.Engine{"echo": engine},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.ends(t, id)
	if err := d.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-engine.taken; !errors.Is(err, provisioner.ErrStale) || calls.Load() != 1 || len(engine.taken) != 0 {
		t.Errorf("the state was offered %d times: %v", calls.Load(), err)
	}
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
