package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// writeScrapes writes one scrape every five seconds, beginning at a fixed time.
func writeScrapes(t *testing.T, texts ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i, text := range texts {
		name := filepath.Join(dir, fmt.Sprint(1_700_000_000_000+5000*i))
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// shippedRules returns the rules of the chart.
func shippedRules(t *testing.T) []rule {
	t.Helper()
	b, err := os.ReadFile("../../deploy/charts/coder/monitoring/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	all, err := parseRules(b)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

const queueScrape = `# TYPE coderd_api_concurrent_requests gauge
coderd_api_concurrent_requests 1
# TYPE coderd_provisionerd_queue_jobs gauge
coderd_provisionerd_queue_jobs{organization="coder",state="pending",tags="scope=organization"} %d
# TYPE coderd_provisionerd_queue_slots gauge
coderd_provisionerd_queue_slots{organization="coder",tags="scope=organization"} %d
`

// TestReplay evaluates the shipped rules on scrapes of a queue whose
// provisioners stop: the right alert is pending, and fires once its time is
// over, which a division makes shorter.
func TestReplay(t *testing.T) {
	var texts []string
	for i := range 10 {
		pending, slots := 0, 4
		if i >= 3 && i < 8 { // for 20 s
			pending, slots = 7, 0
		}
		texts = append(texts, fmt.Sprintf(queueScrape, pending, slots))
	}
	r, err := readScrapes(writeScrapes(t, texts...))
	if err != nil {
		t.Fatal(err)
	}
	for divide, state := range map[int]string{1: "pending", 14: "pending", 15: "firing"} { // its time is five minutes
		got, err := r.replay(shippedRules(t), divide)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != 1 || got[0].Alert != "CoderJobsWithoutProvisioner" || got[0].State != state || got[0].To.Sub(got[0].From) != 20*time.Second {
			t.Errorf("with times divided by %d: %+v, want CoderJobsWithoutProvisioner %s for 20 s", divide, got, state)
		}
	}
}

// TestReplayOfFailedScrapes ends series that a scrape lacks: a server that is
// gone is noticed at once, and not after the look-back time of five minutes.
func TestReplayOfFailedScrapes(t *testing.T) {
	up := fmt.Sprintf(queueScrape, 0, 4)
	r, err := readScrapes(writeScrapes(t, up, up, "", "", up))
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.replay(shippedRules(t), 100)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0].Alert != "CoderDown" || got[0].State != "firing" || got[0].To.Sub(got[0].From) != 5*time.Second {
		t.Errorf("%+v, want CoderDown firing for 5 s", got)
	}
}

// TestReadScrapes refuses directories that are not scrapes.
func TestReadScrapes(t *testing.T) {
	if _, err := readScrapes(t.TempDir()); err == nil {
		t.Error("an empty directory is a recording")
	}
	if _, err := readScrapes(writeScrapes(t, "not a metric {")); err == nil {
		t.Error("a broken scrape is accepted")
	}
}
