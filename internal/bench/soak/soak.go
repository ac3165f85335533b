// Package soak keeps a deployment busy while its processes are killed one after the other: the server, an external
// provisioner and an agent with SIGKILL, and PostgreSQL by a restart. Then it checks that nothing was lost: every
// acknowledged build has ended, and every workspace is in the state that was asked for last. Memory, goroutines,
// open files and tables must not grow.
//
// The server is killed during the first quarter only, so that the rest of the run shows one process over time.
package soak

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/bench/figure"
	"github.com/seed-2a7f8fe7/coder/internal/bench/rig"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/embedded"
)

// Config configures a run.
type Config struct {
	Coder    string // the binary
	Dir      string // for all data; "" means a temporary directory
	Out      io.Writer
	Progress io.Writer
	Duration time.Duration // of the load
	Every    time.Duration // interval between two kills
	// Pause is the pause of each workspace between two builds.
	Pause time.Duration
	// Addresses are the addresses of the server, its metrics and its profiles; empty ones mean free ones.
	Addresses [3]string
}

// Sizes of the deployment.
const (
	workspaces   = 4 // that are built again and again
	agents       = 2
	provisioners = 2
	slots        = 2
)

// patience ends a wait for something that does not happen.
const patience = 3 * time.Minute

// Result is what a run found.
type Result struct {
	Builds int            // acknowledged
	Kills  map[string]int // by target
	// Lost lists builds that did not end or do not exist, and workspaces in a state that nobody asked for.
	Lost []string
	// Failed lists builds that ended, but did not succeed.
	Failed []string
	// Leaked lists what is still larger than before the load, after it has settled.
	Leaked []string
	Rows   []figure.Row
}

// Run runs the load and the kills, and prints the rows. Its error is one of the run itself.
func Run(ctx context.Context, c Config) (*Result, error) {
	if c.Dir == "" {
		dir, err := os.MkdirTemp("", "coder-soak-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		c.Dir = dir
	}
	s := &soak{Config: c, result: &Result{Kills: map[string]int{}}}
	defer s.close()
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	err := s.run(ctx)
	if err != nil {
		b, _ := os.ReadFile(filepath.Join(c.Dir, "server.log"))
		err = fmt.Errorf("%w\nthe end of the log:\n%s", err, b[max(0, len(b)-4000):])
	}
	for _, r := range s.result.Rows {
		r.Print(c.Out)
	}
	return s.result, err
}

// soak is a running deployment.
type soak struct {
	Config
	*rig.Rig
	result       *Result
	cluster      *embedded.Cluster
	store        *postgres.Store
	provisioners []*exec.Cmd
	agents       []*exec.Cmd
	tokens       []uuid.UUID
	reached      []codersdk.Workspace // with the agents
	built        []*tracked
	samples      samples
	pid          atomic.Int64 // of the server
}

func (s *soak) close() {
	for _, cmd := range append(s.agents, s.provisioners...) {
		rig.Kill(cmd)
	}
	if s.Rig != nil {
		s.Rig.Close()
	}
	if s.store != nil {
		s.store.Close()
	}
	if s.cluster != nil {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		s.cluster.Stop(ctx) //nolint:errcheck // its data is deleted
	}
}

// startDatabase starts PostgreSQL, which outlives a killed server.
func (s *soak) startDatabase(ctx context.Context) (err error) {
	dir := filepath.Join(s.Dir, "pg")
	s.cluster, err = embedded.Start(ctx, embedded.Config{Dir: dir, CacheDir: dir, Log: slog.New(slog.DiscardHandler)})
	return err
}

// start starts all processes and creates the workspaces.
func (s *soak) start(ctx context.Context) error {
	if err := s.startDatabase(ctx); err != nil {
		return err
	}
	var err error
	s.Rig, err = rig.New(ctx, rig.Config{
		Binary: s.Coder, Dir: s.Dir, PostgresURL: s.cluster.URL(), Address: s.Addresses[0], Metrics: s.Addresses[1], Pprof: s.Addresses[2],
	})
	if err != nil {
		return err
	}
	s.pid.Store(int64(s.Server.Process.Pid))
	if s.store, err = s.Store(ctx); err != nil {
		return err
	}
	for i := range provisioners {
		p, err := s.StartProvisioner(fmt.Sprint("provisioner", i), slots)
		if err != nil {
			return err
		}
		s.provisioners = append(s.provisioners, p)
	}
	for i := range agents {
		if err := s.addAgent(ctx, fmt.Sprint("agent", i)); err != nil {
			return err
		}
	}
	t, err := s.Template(ctx, "built", rig.AgentFiles("", time.Second))
	if err != nil {
		return err
	}
	for i := range workspaces {
		w, err := s.Workspace(ctx, fmt.Sprint("built", i), t)
		if err != nil {
			return err
		}
		s.built = append(s.built, &tracked{id: w.ID, name: w.Name, number: w.LatestBuild.BuildNumber, asked: w.LatestBuild.Transition})
	}
	return nil
}

// addAgent creates a workspace whose agent has a fixed token, and starts the agent.
func (s *soak) addAgent(ctx context.Context, name string) error {
	token := uuid.New()
	t, err := s.Template(ctx, name, rig.AgentFiles(token.String(), time.Millisecond))
	if err != nil {
		return err
	}
	w, err := s.Workspace(ctx, name, t)
	if err != nil {
		return err
	}
	cmd, err := s.StartAgent(name, token)
	if err != nil {
		return err
	}
	s.tokens, s.agents, s.reached = append(s.tokens, token), append(s.agents, cmd), append(s.reached, w)
	return nil
}

// run runs the load with the kills, and checks what remains.
func (s *soak) run(ctx context.Context) error {
	if err := s.reachAgents(ctx); err != nil { // also warms up
		return err
	}
	before, err := s.settled(ctx, nil)
	if err != nil {
		return err
	}
	load, stop := context.WithCancel(ctx)
	defer stop()
	var work sync.WaitGroup
	for _, w := range s.built {
		work.Go(func() { s.keepBuilding(ctx, load, w) })
	}
	work.Go(func() { s.keepConnecting(load) })
	work.Go(func() { s.keepReading(load) })
	work.Go(func() { s.keepSampling(load) })
	err = s.killAll(ctx)
	stop()
	work.Wait()
	if err != nil {
		return err
	}
	if err := s.reachAgents(ctx); err != nil {
		return fmt.Errorf("an agent cannot be reached any longer: %w", err)
	}
	if err := s.check(ctx); err != nil {
		return err
	}
	after, err := s.settled(ctx, before)
	if err != nil {
		return err
	}
	s.result.Leaked = after.above(before)
	s.report()
	return ctx.Err()
}

// report adds the rows of the result.
func (s *soak) report() {
	r := s.result
	for _, texts := range [][]string{r.Lost, r.Failed, r.Leaked} {
		for _, text := range texts {
			fmt.Fprintln(s.Out, "#", text)
		}
	}
	for target, n := range r.Kills {
		r.Rows = append(r.Rows, figure.Plain("soak_kills_"+target, float64(n), ""))
	}
	r.Rows = append(r.Rows,
		figure.Plain("soak_builds", float64(r.Builds), ""),
		figure.AtMost("soak_lost", float64(len(r.Lost)), 0, ""),
		figure.AtMost("soak_builds_failed", float64(len(r.Failed)), 0, ""),
		figure.AtMost("soak_leaked", float64(len(r.Leaked)), 0, ""))
	r.Rows = append(r.Rows, s.samples.rows(s.Out)...)
}

// kill is one way to end a process and start it again.
type kill struct {
	target string
	do     func(ctx context.Context) error
}

// killAll kills one process after the other until the duration is over. Each is killed at least once.
func (s *soak) killAll(ctx context.Context) error {
	began := time.Now()
	kills := []kill{
		{"provisioner", s.killProvisioner}, {"agent", s.killAgent}, {"server", s.killServer}, {"postgresql", s.restartDatabase},
	}
	for i := 0; i < len(kills) || time.Since(began) < s.Duration; i++ {
		select {
		case <-time.After(s.Every):
		case <-ctx.Done():
			return ctx.Err()
		}
		k := kills[i%len(kills)]
		if k.target == "server" && i >= len(kills) && time.Since(began) > s.Duration/4 {
			continue
		}
		if err := k.do(ctx); err != nil {
			return fmt.Errorf("kill the %s: %w", k.target, err)
		}
		s.result.Kills[k.target]++
		fmt.Fprintf(s.Progress, "%s killed after %s\n", k.target, time.Since(began).Round(time.Second))
	}
	return nil
}

func (s *soak) killProvisioner(context.Context) (err error) {
	n := s.result.Kills["provisioner"] % provisioners
	rig.Kill(s.provisioners[n])
	s.provisioners[n], err = s.StartProvisioner(fmt.Sprint("provisioner", n), slots)
	return err
}

func (s *soak) killAgent(context.Context) (err error) {
	n := s.result.Kills["agent"] % agents
	rig.Kill(s.agents[n])
	s.agents[n], err = s.StartAgent(fmt.Sprint("agent", n), s.tokens[n])
	return err
}

func (s *soak) killServer(ctx context.Context) error {
	rig.Kill(s.Server)
	err := s.StartServer(ctx)
	s.pid.Store(int64(s.Server.Process.Pid))
	s.samples.restart()
	return err
}

func (s *soak) restartDatabase(ctx context.Context) error {
	stop, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return errors.Join(s.cluster.Stop(stop), s.startDatabase(ctx))
}
