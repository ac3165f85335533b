package fairshare_test

import (
	"fmt"
	"log/slog"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/fairshare"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// TestSeats follows the rows of a seat: one in each organization that is
// served, under one shared id, kept while a later connection is open, and gone
// at the end.
func TestSeats(t *testing.T) {
	store := postgrestest.New(t)
	exec := func(sql string) {
		t.Helper()
		if _, err := store.Pool().Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	var ids []uuid.UUID
	for i := range 3 {
		ids = append(ids, uuid.New())
		exec(fmt.Sprintf(`INSERT INTO organizations (id, name, created_at, updated_at, provisioner_weight) VALUES ('%s', 'o%d', now(), now(), %d)`, ids[i], i, i))
	}
	log := slog.New(slog.DiscardHandler)
	hub := notify.New(store.Pool(), log)
	q := queue.New(queue.Config{Store: store, Hub: hub, Log: log})
	s := fairshare.New(fairshare.Config{Store: store, Hub: hub, Queue: q, Log: log})
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer s.Stop(t.Context()) //nolint:errcheck // nothing to lose
	there := func() (rows, shared int) {
		t.Helper()
		err := store.Pool().QueryRow(t.Context(), `SELECT count(*), count(DISTINCT shared_id) FROM provisioner_daemons WHERE last_seen_at > now() - interval '1 minute'`).Scan(&rows, &shared)
		if err != nil {
			t.Fatal(err)
		}
		return rows, shared
	}
	seat := s.Seat(queue.Daemon{Name: "own", KeyID: codersdk.ReservedProvisionerKey(codersdk.ProvisionerKeyBuiltIn), Tags: codersdk.NormalizeTags(uuid.Nil, nil), Provisioners: []string{"echo"}})
	first, err := seat.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if rows, shared := there(); rows != 2 || shared != 1 {
		t.Errorf("%d rows of %d provisioners", rows, shared)
	}
	second, err := seat.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	first() // the connection before ends after the next has started
	if rows, _ := there(); rows != 2 {
		t.Errorf("%d rows after a connection was taken over", rows)
	}
	exec(`UPDATE organizations SET provisioner_weight = 100 WHERE name = 'o0'`)
	exec(`UPDATE organizations SET provisioner_weight = 0 WHERE name = 'o1'`)
	exec(`UPDATE organizations SET deleted_at = now() WHERE name = 'o2'`)
	hub.PublishHere(notify.Kind(string(codersdk.RBACResourceOrganization)))
	testwait.Until(t, "one organization is left", func() bool {
		var now uuid.UUID
		if err := store.Pool().QueryRow(t.Context(), `SELECT coalesce(max(organization_id::text), '00000000-0000-0000-0000-000000000000')::uuid FROM provisioner_daemons WHERE last_seen_at > now() - interval '1 minute'`).Scan(&now); err != nil {
			t.Fatal(err)
		}
		rows, _ := there()
		return rows == 1 && now == ids[0]
	})
	w, err := seat.Holder(t.Context(), uuid.NewString())
	if err != nil || w.ID != uuid.Nil {
		t.Errorf("of a job that there is not it is %+v, %v", w, err)
	}
	second()
	if rows, _ := there(); rows != 0 {
		t.Errorf("%d rows after the end", rows)
	}
}
