package terraform

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
)

// record feeds lines to a recorder and gives what it logs.
func record(lines ...string) (*recorder, []string) {
	var got []string
	r := newRecorder("apply", func(l provisioner.LogLevel, text string) { got = append(got, fmt.Sprintf("%s %s", l, text)) })
	for _, l := range lines {
		r.stdout([]byte(l))
	}
	return r, got
}

func TestLogLines(t *testing.T) {
	for name, c := range map[string]struct {
		line string
		want []string
	}{
		"plain":           {`Some text`, []string{"INFO Some text"}},
		"cut JSON":        {`{"@level":"info","@mess`, []string{`INFO {"@level":"info","@mess`}},
		"other JSON":      {`{"a":1}`, []string{`INFO {"a":1}`}},
		"other type":      {`{"@level":5}`, []string{`INFO {"@level":5}`}},
		"version":         {`{"@level":"info","@message":"Terraform 1.11.4","type":"version"}`, []string{"DEBUG Terraform 1.11.4"}},
		"several lines":   {`{"@level":"info","@message":"x: (local-exec): one\ntwo\r\n\nthree","type":"provision_progress"}`, []string{"INFO x: (local-exec): one", "INFO two", "INFO ", "INFO three"}},
		"NUL and bad":     {"{\"@level\":\"warn\",\"@message\":\"a\\u0000b\xff\",\"type\":\"log\"}", []string{"WARN ab\uFFFD"}},
		"unknown level":   {`{"@level":"loud","@message":"x","type":"log"}`, []string{"INFO x"}},
		"no resource":     {`{"@level":"info","@message":"x","type":"apply_start"}`, []string{"INFO x"}},
		"end, no start":   {`{"@level":"info","@message":"x","type":"apply_complete","hook":{"resource":{"addr":"a.b"}}}`, []string{"INFO x"}},
		"diagnostic":      {`{"@level":"error","@message":"Error: M","type":"diagnostic","diagnostic":{"severity":"error","summary":"S","detail":"D\nE","range":{"filename":"m/main.tf","start":{"line":7}}}}`, []string{"ERROR m/main.tf:7: S: D", "ERROR E"}},
		"of a resource":   {`{"@level":"warn","@message":"Warning: S","type":"diagnostic","diagnostic":{"severity":"warning","summary":"S","address":"a.b"}}`, []string{"WARN a.b: S"}},
		"empty":           {`{"@level":"error","@message":"Error: M","type":"diagnostic","diagnostic":{}}`, []string{"ERROR Error: M"}},
		"very long":       {`{"@level":"info","@message":"` + strings.Repeat("é", maxLogLine) + `","type":"log"}`, []string{"INFO " + strings.Repeat("é", maxLogLine/2) + "…"}},
		"deep and broken": {strings.Repeat(`{"a":`, 20000), []string{"INFO " + strings.Repeat(`{"a":`, 20000)[:maxLogLine] + "…"}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, got := record(c.line); !cmp.Equal(c.want, got) {
				t.Error(cmp.Diff(c.want, got))
			}
		})
	}
}

func TestStderr(t *testing.T) {
	r, _ := record()
	var got []string
	r.log = func(l provisioner.LogLevel, text string) { got = append(got, l.String()) }
	for _, l := range []string{"2026-01-01T00:00:00.000Z [DEBUG] x", "2026-01-01T00:00:00.000Z [TRACE] x", "2026-01-01T00:00:00.000Z [INFO]  x", "panic: oh"} {
		r.takeStderr([]byte(l))
	}
	if want := []string{"DEBUG", "TRACE", "DEBUG", "WARN"}; !cmp.Equal(want, got) {
		t.Error(cmp.Diff(want, got))
	}
	if got := r.failure(errors.New("status 2")); got != "panic: oh" {
		t.Errorf("got %q", got)
	}
	if got := newRecorder("x", nil).failure(errors.New("status 2")); got != "status 2" {
		t.Errorf("got %q", got)
	}
}

func TestManyErrors(t *testing.T) {
	r, _ := record()
	for i := range 8 {
		r.log = func(provisioner.LogLevel, string) {}
		r.stdout(fmt.Appendf(nil, `{"@level":"error","type":"diagnostic","diagnostic":{"severity":"error","summary":"E%d"}}`, i))
	}
	if got, want := r.failure(nil), "E0\nE1\nE2\nE3\nE4\nand 3 more errors; see the log"; got != want {
		t.Errorf("got %q", got)
	}
}

func TestTimings(t *testing.T) {
	hook := func(kind, at, addr, extra string) string {
		return fmt.Sprintf(`{"@level":"info","@message":"x","@timestamp":"2026-01-01T00:00:%sZ","type":%q,"hook":{"resource":{"addr":%q,"implied_provider":"p"}%s}}`, at, kind, addr, extra)
	}
	r, _ := record(
		hook("apply_start", "01", "a.x", `,"action":"create"`),
		hook("provision_start", "02", "a.x", `,"provisioner":"local-exec"`),
		hook("provision_complete", "04", "a.x", `,"provisioner":"local-exec"`),
		hook("refresh_start", "02", "a.z", ``), hook("refresh_complete", "03", "a.z", ``),
		hook("apply_progress", "04", "a.x", `,"action":"create"`),
		hook("apply_complete", "05", "a.x", `,"action":"create"`),
		hook("apply_start", "05", "a.y", `,"action":"delete"`),
		hook("apply_errored", "06", "a.y", `,"action":"delete"`),
		hook("apply_start", "06", "a.cut", `,"action":"create"`),
	)
	var got []string
	base := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, tm := range r.finish(base, base.Add(9*time.Second), false) {
		got = append(got, fmt.Sprintf("%s %s %s %s %s %v", tm.GetStage(), tm.GetSource(), tm.GetAction(), tm.GetResource(), tm.GetState(), tm.GetEnd().AsTime().Sub(tm.GetStart().AsTime())))
	}
	want := []string{
		"apply terraform apply terraform apply FAILED 9s",
		"apply p provision a.x COMPLETED 2s",
		"apply p refresh a.z COMPLETED 1s",
		"apply p create a.x COMPLETED 4s",
		"apply p delete a.y FAILED 1s",
		"apply p create a.cut FAILED 3s",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLines(t *testing.T) {
	var mu sync.Mutex
	var got []string
	l := &lines{mu: &mu, each: func(line []byte) { got = append(got, string(line)) }}
	for _, s := range []string{"one\ntw", "o\r\n\n", strings.Repeat("x", maxLine), "yyy\nthree", "\nfour"} {
		if n, err := l.Write([]byte(s)); n != len(s) || err != nil {
			t.Fatal(n, err)
		}
	}
	l.flush()
	want := []string{"one", "two", strings.Repeat("x", maxLine), "three", "four"}
	if !cmp.Equal(want, got) {
		t.Errorf("got %d lines", len(got))
	}
}

func FuzzRecorder(f *testing.F) {
	f.Add(`{"@level":"info","@message":"x","type":"apply_start","hook":{"resource":{"addr":"a.b"},"action":"create"}}`)
	f.Add(`{"type":"diagnostic","diagnostic":{"severity":"error","range":{}}}`)
	f.Fuzz(func(t *testing.T, line string) {
		if line == "" {
			return
		}
		r, got := record(line, line)
		r.finish(time.Now(), time.Now(), true)
		for _, g := range got {
			if len(g) > maxLogLine+20 {
				t.Errorf("a line of %d bytes", len(g))
			}
		}
	})
}
