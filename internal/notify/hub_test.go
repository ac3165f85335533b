package notify_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

func hub(t *testing.T, url string) (*notify.Hub, *postgres.Store) {
	t.Helper()
	s, err := postgres.Open(t.Context(), postgres.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return notify.New(s.Pool(), slog.New(slog.DiscardHandler)), s
}

func start(t *testing.T, h *notify.Hub) {
	t.Helper()
	if err := h.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

func wait(t *testing.T, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(testwait.Limit):
		t.Fatal("no hint: " + what)
	}
}

func TestHintsReachThisAndOtherReplicas(t *testing.T) {
	url := postgrestest.URL(t)
	a, _ := hub(t, url)
	b, store := hub(t, url)
	job := notify.Job(uuid.New())
	ca, endA := a.Subscribe(job)
	defer endA()
	cb, endB := b.Subscribe(job, notify.Jobs(uuid.New()))
	defer endB()
	start(t, a)
	start(t, b)
	wait(t, ca, "a listens") // the look after connecting
	wait(t, cb, "b listens")

	a.Publish(job)
	wait(t, ca, "here")
	wait(t, cb, "there")

	// A lost connection: every user is told to look, then hints flow again.
	if _, err := store.Pool().Exec(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()"); err != nil {
		t.Fatal(err)
	}
	wait(t, cb, "some may have been missed")
	a.Publish(job)
	wait(t, cb, "there again")
}

func TestHintsCoalesceAndEnd(t *testing.T) {
	h := notify.New(nil, slog.New(slog.DiscardHandler))
	topic := notify.Workspace(uuid.New())
	c, end := h.Subscribe(topic)
	for range 100 {
		h.Publish(topic)
	}
	wait(t, c, "once")
	select {
	case <-c:
		t.Fatal("a hint came twice for one look")
	default:
	}
	end()
	h.Publish(topic)
	select {
	case <-c:
		t.Fatal("a hint came after the end")
	default:
	}
}

func TestLatency(t *testing.T) {
	h, store := hub(t, postgrestest.URL(t))
	other, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, _, err := h.Latency(other); err == nil {
		t.Error("a hint came back to a hub that does not listen")
	}
	job := notify.Job(uuid.New())
	c, end := h.Subscribe(job)
	defer end()
	start(t, h)
	wait(t, c, "it listens")
	send, receive, err := h.Latency(t.Context())
	if err != nil || send <= 0 || receive < 0 {
		t.Errorf("sent in %v, received in %v: %v", send, receive, err)
	}
	store.Close()
	if _, _, err := h.Latency(t.Context()); err == nil {
		t.Error("a hint went through a closed pool")
	}
}
