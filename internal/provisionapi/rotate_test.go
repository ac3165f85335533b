package provisionapi_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/keyring"
	daemon "github.com/seed-2a7f8fe7/coder/internal/provisionerd"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// lapse makes time pass for a key: it expires now.
func (w *town) lapse(t *testing.T, id uuid.UUID) {
	t.Helper()
	if _, err := w.store.Pool().Exec(t.Context(), `UPDATE provisioner_keys SET expires_at = now() WHERE id = $1`, id); err != nil {
		t.Fatal(err)
	}
}

func (w *town) keys(t *testing.T) []codersdk.ProvisionerKey {
	t.Helper()
	keys, err := w.ring.List(t.Context(), w.ownerSubject, w.org, codersdk.Page{})
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func TestRotation(t *testing.T) {
	w := newTown(t)
	ctx := t.Context()
	old := w.key(t, w.org, "CI", map[string]string{"a": "b"})
	first := w.keys(t)[0]
	if first.ExpiresAt != nil || first.LastUsedAt != nil || first.ReplacedAt != nil {
		t.Fatalf("a new key is %+v", first)
	}
	out, err := w.ring.Rotate(ctx, w.ownerSubject, w.org, "ci", codersdk.RotateProvisionerKeyRequest{GraceSeconds: 3600})
	if err != nil {
		t.Fatal(err)
	}
	if in := time.Until(out.OldExpiresAt); in < time.Hour-testwait.Limit || in > time.Hour+testwait.Limit || out.ExpiresAt != nil || out.Key == old || out.Key == "" {
		t.Fatalf("rotation answers %+v", out)
	}
	both := w.keys(t)
	if len(both) != 2 || both[0].ReplacedAt != nil || both[1].ReplacedAt == nil || both[1].ID != first.ID || both[1].ExpiresAt == nil || both[0].Tags["a"] != "b" || both[0].Name != "CI" {
		t.Fatalf("the list is %+v", both)
	}
	for name, secret := range map[string]string{"old": old, "new": out.Key} {
		if k, err := w.ring.BySecret(ctx, secret); err != nil || k.Name != "CI" || k.Tags["a"] != "b" {
			t.Errorf("the %s key is %+v, %v", name, k, err)
		}
	}
	w.lapse(t, first.ID)
	if _, err := w.ring.BySecret(ctx, old); !codersdk.Is(err, codersdk.CodeUnauthenticated) || !strings.Contains(err.Error(), "use the key that replaced it") {
		t.Error("the old key after its grace:", err)
	}
	if keys := w.keys(t); len(keys) != 1 || keys[0].ID != both[0].ID {
		t.Errorf("after the grace the list is %+v", keys)
	}
	// The name is taken, and one row is all that rotation needs to go on.
	if _, err := w.ring.Create(ctx, w.ownerSubject, w.org, codersdk.CreateProvisionerKeyRequest{Name: "ci"}); !codersdk.Is(err, codersdk.CodeConflict) {
		t.Error("a second key of the name:", err)
	}
	again, err := w.ring.Rotate(ctx, w.ownerSubject, w.org, both[0].ID.String(), codersdk.RotateProvisionerKeyRequest{ExpiresInSeconds: 60})
	if err != nil {
		t.Fatal(err)
	}
	if keys := w.keys(t); len(keys) != 1 || again.ExpiresAt == nil || keys[0].ExpiresAt == nil {
		t.Errorf("after a rotation without grace the list is %+v, the answer %+v", keys, again)
	}
	if _, err := w.ring.BySecret(ctx, out.Key); !codersdk.Is(err, codersdk.CodeUnauthenticated) {
		t.Error("a key that was rotated without grace:", err)
	}
	// A new key lives as long as the one before was made for.
	third, err := w.ring.Rotate(ctx, w.ownerSubject, w.org, "CI", codersdk.RotateProvisionerKeyRequest{GraceSeconds: 3600})
	if err != nil || third.ExpiresAt == nil || third.OldExpiresAt.After(*again.ExpiresAt) {
		t.Errorf("the third key: %+v, %v", third, err)
	}
	if err := w.ring.Delete(ctx, w.ownerSubject, w.org, "ci"); err != nil || len(w.keys(t)) != 0 {
		t.Error("deleting a name deletes all of its keys:", err, w.keys(t))
	}
}

func TestRotationRefusals(t *testing.T) {
	w := newTown(t)
	ctx := t.Context()
	w.key(t, w.org, "ci", nil)
	member := access.Subject{UserID: w.memberID, OrganizationRoles: map[uuid.UUID][]string{w.org: {}}}
	rotate := func(who access.Subject, org uuid.UUID, ref string, grace, life int64) error {
		_, err := w.ring.Rotate(ctx, who, org, ref, codersdk.RotateProvisionerKeyRequest{GraceSeconds: grace, ExpiresInSeconds: life})
		return err
	}
	for name, c := range map[string]struct {
		err  error
		want codersdk.Code
	}{
		"member":               {rotate(member, w.org, "ci", 0, 0), codersdk.CodeNotFound},
		"reserved":             {rotate(w.ownerSubject, w.org, "PSK", 0, 0), codersdk.CodeInvalid},
		"unknown":              {rotate(w.ownerSubject, w.org, "nope", 0, 0), codersdk.CodeNotFound},
		"another organization": {rotate(w.ownerSubject, w.other, "ci", 0, 0), codersdk.CodeNotFound},
		"negative grace":       {rotate(w.ownerSubject, w.org, "ci", -1, 0), codersdk.CodeInvalid},
		"endless grace":        {rotate(w.ownerSubject, w.org, "ci", 1<<40, 0), codersdk.CodeInvalid},
		"negative life":        {rotate(w.ownerSubject, w.org, "ci", 0, -1), codersdk.CodeInvalid},
	} {
		if !codersdk.Is(c.err, c.want) {
			t.Errorf("%s: %v, want %s", name, c.err, c.want)
		}
	}
	for range 10 {
		if err := rotate(w.ownerSubject, w.org, "ci", 3600, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := rotate(w.ownerSubject, w.org, "ci", 3600, 0); !codersdk.Is(err, codersdk.CodeConflict) {
		t.Error("an eleventh old key:", err)
	}
	if err := w.ring.Delete(ctx, w.ownerSubject, w.org, w.keys(t)[10].ID.String()); err != nil || len(w.keys(t)) != 10 {
		t.Error("one old key is deleted by its id:", err)
	}
	if _, err := w.ring.Create(ctx, w.ownerSubject, w.org, codersdk.CreateProvisionerKeyRequest{Name: "x", ExpiresInSeconds: -1}); !codersdk.Is(err, codersdk.CodeInvalid) {
		t.Error("a key of a negative life:", err)
	}
}

// keyed starts a daemon that came with a key.
func (w *town) keyed(t *testing.T, secret string) *daemon.Daemon {
	t.Helper()
	return w.daemon(t, daemon.WebSocket{Client: w.client, Key: secret, Name: "keyed", Provisioners: []string{"echo"}, Version: "v0"}.Dial)
}

func sentAway(t *testing.T, d *daemon.Daemon, why string) {
	t.Helper()
	select {
	case err := <-d.Refused():
		if !codersdk.Is(err, codersdk.CodeUnauthenticated) || !strings.Contains(err.Error(), why) {
			t.Errorf("the daemon was sent away with: %v", err)
		}
	case <-time.After(testwait.Limit):
		t.Fatal("the daemon stays")
	}
}

// TestDeletedKey cuts a daemon in the middle of an apply: its build goes on
// elsewhere from the state that it gave back.
func TestDeletedKey(t *testing.T) {
	w := newTown(t)
	d := w.keyed(t, w.key(t, w.org, "ci", nil))
	id := w.add(t, build, map[string]string{"apply.jsonl": `{"state": "half", "log": {"output": "here"}}` + "\n" + `{"hang": true}`})
	w.says(t, id, "here")
	if keys := w.keys(t); keys[0].LastUsedAt == nil {
		t.Error("the key looks unused")
	}
	if err := w.ring.Delete(t.Context(), w.ownerSubject, w.org, "ci"); err != nil {
		t.Fatal(err)
	}
	sentAway(t, d, "was deleted")
	if w.state(t, id) != "half" {
		t.Error("the state was not given back")
	}
	w.replace(t, id, nil)
	w.daemon(t, nil)
	if j, _ := w.ends(t, id); j.Status != codersdk.ProvisionerJobStatusSucceeded || j.WorkerName != "builtin" {
		t.Fatalf("job ended as %s on %s: %s", j.Status, j.WorkerName, j.Error)
	}
}

// TestDeletedKeyOfUpstream cancels the job of a daemon of the original protocol.
func TestDeletedKeyOfUpstream(t *testing.T) {
	w := newTown(t)
	u := newUpstreamWith(t, w, "1.14", w.key(t, w.org, "ci", nil))
	id := w.add(t, build, nil)
	u.acquire(false)
	if err := w.ring.Delete(t.Context(), w.ownerSubject, w.org, "ci"); err != nil {
		t.Fatal(err)
	}
	update := u.message("provisionerd.UpdateJobRequest")
	set(update, "job_id", id.String())
	for canceled := false; !canceled; {
		r, err := u.call("UpdateJob", update, "provisionerd.UpdateJobResponse")
		if err != nil {
			t.Fatal(err)
		}
		canceled = get(r, "canceled").Bool()
	}
	failed := u.message("provisionerd.FailedJob")
	set(failed, "job_id", id.String())
	set(failed, "error", "interrupted")
	set(failed.Mutable(failed.Descriptor().Fields().ByName("workspace_build")).Message(), "state", []byte("half"))
	if _, err := u.call("FailJob", failed, "provisionerd.Empty"); err != nil {
		t.Fatal(err)
	}
	if j, _ := w.ends(t, id); j.Status != codersdk.ProvisionerJobStatusFailed || string(w.failed[id].GetWorkspaceBuild().GetState()) != "half" {
		t.Fatalf("job ended as %s: %s", j.Status, j.Error)
	}
	select {
	case <-u.session.CloseChan():
	case <-time.After(testwait.Limit):
		t.Fatal("the connection stays open")
	}
}

// TestDeletedKeyOfImport runs what has no effect outside again at once.
func TestDeletedKeyOfImport(t *testing.T) {
	w := newTown(t)
	d := w.keyed(t, w.key(t, w.org, "ci", nil))
	id := w.add(t, imp, map[string]string{"plan.jsonl": `{"log": {"output": "here"}}` + "\n" + `{"hang": true}`})
	w.says(t, id, "here")
	if err := w.ring.Delete(t.Context(), w.ownerSubject, w.org, "ci"); err != nil {
		t.Fatal(err)
	}
	sentAway(t, d, "was deleted")
	w.replace(t, id, nil)
	w.daemon(t, nil)
	if j, _ := w.ends(t, id); j.Status != codersdk.ProvisionerJobStatusSucceeded {
		t.Fatalf("job ended as %s: %s", j.Status, j.Error)
	}
}

// TestExpiredKey lets the running job end and gives no other.
func TestExpiredKey(t *testing.T) {
	w := newTown(t)
	d := w.keyed(t, w.key(t, w.org, "ci", nil))
	id := w.add(t, build, map[string]string{"plan.jsonl": `{"log": {"output": "here"}}` + "\n" + `{"sleep": "700ms"}`})
	w.says(t, id, "here")
	// The old key ends within the second, and the next job is not for it.
	if _, err := w.ring.Rotate(t.Context(), w.ownerSubject, w.org, "ci", codersdk.RotateProvisionerKeyRequest{GraceSeconds: 1}); err != nil {
		t.Fatal(err)
	}
	if j, _ := w.ends(t, id); j.Status != codersdk.ProvisionerJobStatusSucceeded {
		t.Fatalf("job ended as %s: %s", j.Status, j.Error)
	}
	sentAway(t, d, "use the key that replaced it")
	next := w.add(t, build, nil)
	if j, err := w.queue.Job(t.Context(), w.store.Queries, next); err != nil || j.Status != codersdk.ProvisionerJobStatusPending {
		t.Fatalf("the next job is %+v, %v", j, err)
	}
}

// TestKeyIsHeld looks at the keyring alone.
func TestKeyIsHeld(t *testing.T) {
	w := newTown(t)
	w.key(t, w.org, "a", nil)
	w.key(t, w.org, "b", nil)
	keys := w.keys(t)
	got := make(chan keyring.End, 4)
	end := func(e keyring.End) { got <- e }
	w.ring.Hold(codersdk.ReservedProvisionerKey(codersdk.ProvisionerKeyPSK), func(keyring.End) { t.Error("a reserved key ended") })
	left := w.ring.Hold(keys[0].ID, func(keyring.End) { t.Error("who has left was told") })
	left()
	w.ring.Hold(keys[0].ID, end)
	w.lapse(t, keys[1].ID)
	w.ring.Hold(keys[1].ID, end) // it expired between admission and now
	if e := <-got; e.Revoked {
		t.Errorf("an expired key ended as %+v", e)
	}
	if err := w.ring.Delete(t.Context(), w.ownerSubject, w.org, "a"); err != nil {
		t.Fatal(err)
	}
	if e := <-got; !e.Revoked {
		t.Errorf("a deleted key ended as %+v", e)
	}
}
