package scaletest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

func TestExecute(t *testing.T) {
	t.Parallel()
	var running, most, attempts atomic.Int64
	task := func(do func(ctx context.Context, r *Recorder) error) Task {
		return Task{Name: "task", Do: func(ctx context.Context, r *Recorder) error {
			n := running.Add(1)
			defer running.Add(-1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			return do(ctx, r)
		}}
	}
	tasks := []Task{
		task(func(_ context.Context, r *Recorder) error { r.Observe("step", 20*time.Millisecond); return nil }),
		task(func(_ context.Context, r *Recorder) error { r.Add("bytes", 5); return nil }),
		task(func(context.Context, *Recorder) error { // succeeds at the second attempt
			if attempts.Add(1) == 1 {
				return errors.New("not yet")
			}
			return nil
		}),
		task(func(context.Context, *Recorder) error { return errors.New("broken") }),
		task(func(context.Context, *Recorder) error { return errors.New("broken") }),
		task(func(ctx context.Context, _ *Recorder) error { <-ctx.Done(); return ctx.Err() }),
	}
	var last Progress
	r := Run{Test: "example", Concurrency: 2, Retries: 1, TaskTimeout: 10 * time.Millisecond, Progress: func(p Progress) { last = p }}.Execute(t.Context(), tasks)
	if r.Tasks != 6 || r.Failed != 3 || most.Load() > 2 || attempts.Load() != 2 {
		t.Errorf("%d tasks, %d failed, %d at a time, %d attempts", r.Tasks, r.Failed, most.Load(), attempts.Load())
	}
	if want := (Progress{Total: 6, Done: 3, Failed: 3}); last != want {
		t.Errorf("the last progress is %+v, want %+v", last, want)
	}
	if len(r.Failures) != 2 || r.Failures[0].Error != "broken" || r.Failures[0].Count != 2 || r.Failures[1].Error != context.DeadlineExceeded.Error() {
		t.Errorf("failures: %+v", r.Failures)
	}
	if len(r.Series) != 1 || r.Series[0].Count != 1 || r.Series[0].P99 < 19.8 || r.Series[0].P99 > 20.2 || len(r.Totals) != 1 || r.Totals[0].Value != 5 {
		t.Errorf("series %+v, totals %+v", r.Series, r.Totals)
	}
}

// TestExecuteCanceled starts no task after the end of the context.
func TestExecuteCanceled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := Run{}.Execute(ctx, []Task{{Name: "a", Do: func(context.Context, *Recorder) error { t.Error("started"); return nil }}})
	if r.Failed != 1 {
		t.Errorf("%d failed", r.Failed)
	}
}

func TestReportForms(t *testing.T) {
	t.Parallel()
	rec := NewRecorder()
	for i := range 100 {
		rec.Observe("echo", time.Duration(i+1)*time.Millisecond)
	}
	rec.Observe("echo", 100*24*time.Hour) // counts as the longest
	rec.Add("bytes sent", 2000)
	rec.fail("ann/dev", errors.New("a | b"))
	r := Report{Test: "traffic", ServerVersion: "v2.37.0", Started: time.Unix(0, 0).UTC(), Seconds: 2, Tasks: 3, Failed: 1}
	rec.fill(&r)
	var text, markdown strings.Builder
	if err := errors.Join(r.Text(&text), r.Markdown(&markdown)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"2 of 3 tasks succeeded, 1 failed, in 2.00 s", "bytes sent: 2000 (1000.0 per second)", "1 failed, first ann/dev: a | b"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text lacks %q:\n%s", want, &text)
		}
	}
	for _, want := range []string{"| echo | 101 | 51.2 ms |", "<=    50.0 ms", "| 1 | ann/dev | a \\| b |", "Server v2.37.0."} {
		if !strings.Contains(markdown.String(), want) {
			t.Errorf("the Markdown lacks %q:\n%s", want, &markdown)
		}
	}
	total := int64(0)
	for i, b := range r.Series[0].Buckets {
		total += b.Count
		if i > 0 && b.UpTo <= r.Series[0].Buckets[i-1].UpTo {
			t.Errorf("bucket %d ends at %v", i, b.UpTo)
		}
	}
	if total != 101 {
		t.Errorf("the buckets have %d durations, want 101", total)
	}
	if b, err := json.Marshal(r); err != nil || !strings.Contains(string(b), `"p99_ms":`) {
		t.Errorf("%s, %v", b, err)
	}
}

// TestFailuresAreBounded keeps the first kinds of failures and counts the rest.
func TestFailuresAreBounded(t *testing.T) {
	t.Parallel()
	rec := NewRecorder()
	for range maxFailures + 7 {
		rec.fail("task", errors.New(uuid.NewString()))
	}
	var r Report
	rec.fill(&r)
	if len(r.Failures) != maxFailures+1 || r.Failures[0].Count != 7 {
		t.Errorf("%d kinds, the first %+v", len(r.Failures), r.Failures[0])
	}
}

// TestAppTraffic sends traffic to the three kinds of apps.
func TestAppTraffic(t *testing.T) {
	t.Parallel()
	w := codersdk.Workspace{Name: "scaletest-1", OwnerName: "ann"}
	w.LatestBuild.Resources = []codersdk.WorkspaceResource{{Agents: []codersdk.WorkspaceAgent{{Name: "main"}}}}
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(rw, r, nil)
		if err != nil {
			return
		}
		s := websocket.NetConn(r.Context(), conn, websocket.MessageBinary)
		defer s.Close()
		switch r.URL.Path {
		case "/@ann/scaletest-1.main/apps/wsec/":
			_, _ = io.Copy(s, s)
		case "/@ann/scaletest-1.main/apps/wsdi/":
			_, _ = io.Copy(io.Discard, s)
		case "/@ann/scaletest-1.main/apps/wsra/":
			for b := make([]byte, 1000); err == nil; {
				_, err = s.Write(b)
			}
		}
	}))
	t.Cleanup(srv.Close)
	u, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	for way, want := range map[string]string{AppEcho: "bytes received", AppDiscard: "bytes sent", AppRandom: "bytes received"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			traffic := Traffic{Client: &codersdk.Client{URL: u}, Way: way, BytesPerTick: 100, TickInterval: time.Millisecond, Duration: 2 * time.Second}
			r := Run{Test: "workspace-traffic"}.Execute(t.Context(), traffic.Tasks([]codersdk.Workspace{w}))
			got := map[string]int64{}
			for _, total := range r.Totals {
				got[total.Name] = total.Value
			}
			if r.Failed != 0 || got[want] == 0 {
				t.Errorf("failures %+v, totals %v", r.Failures, got)
			}
		})
	}
}
