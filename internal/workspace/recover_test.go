package workspace_test

import (
	"bytes"
	"compress/gzip"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/codersdk"
)

func zipped(t *testing.T, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestStateOfARunningBuild is where the next provisioner of the build begins.
func TestStateOfARunningBuild(t *testing.T) {
	h := open(t)
	w := h.create(h.ann, "dev")
	a := h.acquire()
	tell := func(state []byte) error {
		_, err := h.queue.Update(t.Context(), h.worker, a.Fence, &provisionerd.UpdateJobRequest{JobId: a.JobId, State: state, Resumable: true})
		return err
	}
	h.must(tell(zipped(t, []byte("one"))))
	h.must(tell(zipped(t, []byte("two"))))
	wantCode(t, tell([]byte("garbage")), codersdk.CodeInvalid)
	wantCode(t, tell(zipped(t, []byte("cut off"))[:20]), codersdk.CodeInvalid)
	wantCode(t, tell(zipped(t, nil)), codersdk.CodeInvalid)
	wantCode(t, tell(zipped(t, make([]byte, provisionerd.MaxState+1))), codersdk.CodeTooLarge)
	h.queue.Release(t.Context(), h.worker, uuid.MustParse(a.JobId), a.Fence) // as when it is lost
	first := a
	if a = h.acquire(); a.JobId != first.JobId || string(a.GetWorkspaceBuild().State) != "two" {
		t.Fatalf("the next provisioner begins from %q", a.GetWorkspaceBuild().State)
	}
	h.fail(a, "") // says nothing of the state
	left := &provisionerd.Leftover{JobId: a.JobId, Fence: a.Fence, State: zipped(t, []byte("three"))}
	if stale, err := h.queue.Recover(t.Context(), h.worker, left); stale || err != nil {
		t.Fatal(stale, err)
	}
	h.build(h.ann, w.ID, stop)
	left.State = zipped(t, []byte("four"))
	if stale, err := h.queue.Recover(t.Context(), h.worker, left); !stale || err != nil {
		t.Errorf("a state was taken that the next build has not seen: %v", err)
	}
	if a = h.acquire(); string(a.GetWorkspaceBuild().State) != "three" {
		t.Errorf("the next build begins from %q", a.GetWorkspaceBuild().State)
	}
}
