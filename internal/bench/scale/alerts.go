package scale

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/bench/figure"
	"github.com/seed-2a7f8fe7/coder/internal/bench/rig"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
)

// scrapeEvery is the interval of scrapes.
const scrapeEvery = 5 * time.Second

// scrapes are the metrics of a server over time: files whose names are Unix times in milliseconds, in a directory.
type scrapes struct {
	dir  string
	stop context.CancelFunc
	work sync.WaitGroup
}

// record scrapes a server until rows is called.
func record(ctx context.Context, r *rig.Rig) *scrapes {
	s := &scrapes{dir: filepath.Join(r.Dir, "scrapes")}
	ctx, s.stop = context.WithCancel(ctx)
	s.work.Go(func() {
		_ = os.MkdirAll(s.dir, 0o755) // the first write fails otherwise
		lifecycle.Every(ctx, scrapeEvery, func(ctx context.Context) {
			at := time.Now()
			b, _ := r.Scrape(ctx) // an empty scrape is one that failed
			if ctx.Err() == nil {
				_ = os.WriteFile(filepath.Join(s.dir, strconv.FormatInt(at.UnixMilli(), 10)), b, 0o644)
			}
		})
	})
	return s
}

// fired is an alert that was pending or firing.
type fired struct {
	Alert  string            `json:"alert"`
	Labels map[string]string `json:"labels"`
	State  string            `json:"state"` // pending or firing
	From   time.Time         `json:"from"`
	To     time.Time         `json:"to"`
}

// evaluate ends the recording and returns the alerts. The time for which an alert must be pending is divided by
// divide.
func (s *scrapes) evaluate(ctx context.Context, c Config, divide int) ([]fired, error) {
	s.stop()
	s.work.Wait()
	cmd := exec.CommandContext(ctx, c.Checker, "-scrapes", s.dir, "-divide-for", strconv.Itoa(divide), c.Rules)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("evaluate the alerts: %w", err)
	}
	var all []fired
	return all, json.Unmarshal(out, &all)
}

// rows returns how many alerts were firing, and how many were at least pending, and lists them.
func (s *scrapes) rows(ctx context.Context, c Config, prefix string) ([]figure.Row, error) {
	if c.Checker == "" {
		s.stop()
		return nil, nil
	}
	all, err := s.evaluate(ctx, c, 1)
	if err != nil {
		return nil, err
	}
	firing := c.list(all)
	return []figure.Row{
		figure.AtMost(prefix+"alerts_firing", float64(firing), 0, ""),
		figure.Plain(prefix+"alerts_pending", float64(len(all)-firing), ""),
	}, nil
}

// list prints alerts and returns how many were firing.
func (c Config) list(all []fired) (firing int) {
	for _, a := range all {
		if a.State == "firing" {
			firing++
		}
		fmt.Fprintf(c.Out, "# alert %s %v %s for %s\n", a.Alert, a.Labels, a.State, a.To.Sub(a.From).Round(time.Second))
	}
	return firing
}

// The fault of fault, with times that are divided so that it takes a minute.
const (
	faultLasts  = 45 * time.Second
	faultDivide = 20
	faultAlert  = "CoderJobsWithoutProvisioner"
)

// fault stops all provisioners while a build waits and requires that the alert about it fires, and no other.
func fault(ctx context.Context, c Config) error {
	if c.Checker == "" {
		return nil
	}
	return with(ctx, c, func(d *deployment) error {
		l := &loaded{Config: c, deployment: d}
		defer l.close()
		if err := l.startProvisioners(1); err != nil {
			return err
		}
		t, err := l.Template(ctx, "fault", rig.AgentFiles("", time.Second))
		if err != nil {
			return err
		}
		w, err := l.Workspace(ctx, "fault", t)
		if err != nil {
			return err
		}
		l.stopProvisioners()
		s := record(ctx, l.Rig)
		if _, err := l.Client.CreateWorkspaceBuild(ctx, w.ID, codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionStop}); err != nil {
			return errors.Join(err, ctx.Err())
		}
		select {
		case <-time.After(faultLasts):
		case <-ctx.Done():
		}
		all, err := s.evaluate(ctx, c, faultDivide)
		if err != nil {
			return err
		}
		right, others := 0, 0
		c.list(all)
		for _, a := range all {
			switch {
			case a.State != "firing":
			case a.Alert == faultAlert:
				right = 1
			default:
				others++
			}
		}
		fmt.Fprintf(c.Out, "# no provisioner for %s, times of alerts divided by %d\n", faultLasts, faultDivide)
		c.print(figure.AtLeast("fault_alert_firing", float64(right), 1, ""), figure.AtMost("fault_other_alerts_firing", float64(others), 0, ""))
		return nil
	})
}
