package agent

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/robfig/cron/v3"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/seed-2a7f8fe7/coder/api/agentrpc"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/agent/environ"
	"github.com/seed-2a7f8fe7/coder/internal/agent/logfile"
)

// The stages of scripts, and the results of a run, as reported to the server.
const (
	stageStart = "start"
	stageStop  = "stop"
	stageCron  = "cron"

	statusOK            = "ok"
	statusExitFailure   = "exit_failure"
	statusTimedOut      = "timed_out"
	statusPipesLeftOpen = "pipes_left_open"
)

// script is a script of the manifest.
type script struct {
	*agentrpc.Script
	source   uuid.UUID
	schedule cron.Schedule // nil without a schedule
	file     *logfile.File // nil until the first run
}

func newScripts(in []*agentrpc.Script, log *slog.Logger) []*script {
	parser := cron.NewParser(cron.Second | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)
	out := make([]*script, 0, len(in))
	for _, p := range in {
		s := &script{Script: p}
		s.source, _ = uuid.FromBytes(p.LogSourceId) // lines without a source are rejected and logged later
		if p.Cron != "" {
			var err error
			if s.schedule, err = parser.Parse(p.Cron); err != nil {
				log.Error("cannot parse a script's schedule; the script is not scheduled", "script", p.DisplayName, "cron", p.Cron, "error", err)
			}
		}
		out = append(out, s)
	}
	return out
}

// at reports whether a script runs at a stage.
func (s *script) at(stage string) bool {
	return stage == stageStart && s.RunOnStart || stage == stageStop && s.RunOnStop
}

// runAll runs the scripts of a stage concurrently and returns the worst result.
func (l *life) runAll(ctx context.Context, stage string) string {
	var (
		mu    sync.Mutex
		worst = statusOK
		wait  sync.WaitGroup
	)
	for _, s := range l.scripts {
		if !s.at(stage) {
			continue
		}
		l.openLog(s, stage)
		wait.Go(func() {
			status := l.runScript(ctx, s, stage)
			l.gate.done(s)
			mu.Lock()
			defer mu.Unlock()
			if status == statusExitFailure || status == statusTimedOut && worst != statusExitFailure {
				worst = status
			}
		})
	}
	wait.Wait()
	return worst
}

// openLog opens the log file of a script: the one that the template names, or
// the shared one of its stage.
func (l *life) openLog(s *script, stage string) {
	path := s.LogPath
	switch {
	case path != "":
	case stage == stageStart:
		path = "coder-startup-script.log"
	case stage == stageStop:
		path = "coder-shutdown-script.log"
	default:
		path = "coder-script-" + s.source.String() + ".log"
	}
	path = environ.Expand(path, l.c.LogDir, l.env)
	for _, other := range l.scripts {
		if other.file != nil && other.file.Path == path {
			s.file = other.file
			return
		}
	}
	s.file = logfile.New(path)
}

// runScript runs a script once, reports its timing, and returns its result.
func (l *life) runScript(ctx context.Context, s *script, stage string) string {
	began, begin := l.clock.Now(), time.Now()
	if s.TimeoutSeconds > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(s.TimeoutSeconds)*time.Second)
		defer cancel()
	}
	env := l.environment()
	if l.data != "" {
		data := filepath.Join(l.data, s.source.String())
		if err := os.MkdirAll(data, 0o700); err != nil {
			l.log.Warn("cannot create a script's data directory", "error", err)
		}
		env = append(env, "CODER_SCRIPT_DATA_DIR="+data)
	}
	say := func(level codersdk.LogLevel, text string) {
		l.reports.Log(s.source, level, text)
		_, _ = s.file.Write([]byte(text + "\n")) // never fails
	}
	code, status := l.runText(ctx, s.Script.Script, env, output{say: say, enough: l.reports.LogFull, rest: s.file})
	switch status {
	case statusExitFailure:
		say(codersdk.LogLevelError, fmt.Sprintf("The script failed with exit code %d.", code))
	case statusTimedOut:
		say(codersdk.LogLevelError, "The script was stopped after its timeout of "+time.Since(begin).Round(time.Second).String()+".")
	case statusPipesLeftOpen:
		say(codersdk.LogLevelWarn, "The script ended, but a process that it started still holds its output open. Redirect the output of "+
			"background processes, for example: command >/tmp/command.log 2>&1 &")
	}
	l.log.Info("script finished", "script", s.DisplayName, "stage", stage, "status", status, "exit_code", code)
	l.counters.ran(status)
	l.reports.Timing(&agentrpc.ScriptTimingRequest{
		ScriptId: s.Id, StartedAt: timestamppb.New(began), EndedAt: timestamppb.New(began.Add(time.Since(begin))),
		ExitCode: int32(code), Stage: stage, Status: status,
	})
	return status
}

// runByClock runs a script on its schedule until ctx ends. It skips times at
// which the script is still running.
func (l *life) runByClock(ctx context.Context, s *script) {
	if s.file == nil {
		l.openLog(s, stageCron)
	}
	for {
		now := l.clock.Now().Local()
		next := s.schedule.Next(now)
		if next.IsZero() {
			return
		}
		t := time.NewTimer(next.Sub(now))
		select {
		case <-t.C:
			l.runScript(ctx, s, stageCron)
		case <-ctx.Done():
			t.Stop()
			return
		}
	}
}

// gate blocks logins until the start scripts that block them have finished.
type gate struct {
	mu      sync.Mutex
	waiting map[*script]bool
	opened  chan struct{}
	isOpen  bool
}

func (g *gate) init(scripts []*script) {
	g.waiting, g.opened = map[*script]bool{}, make(chan struct{})
	for _, s := range scripts {
		if s.RunOnStart && s.StartBlocksLogin {
			g.waiting[s] = true
		}
	}
	if len(g.waiting) == 0 {
		g.open()
	}
}

// done records that a script has finished.
func (g *gate) done(s *script) {
	g.mu.Lock()
	delete(g.waiting, s)
	empty := len(g.waiting) == 0
	g.mu.Unlock()
	if empty {
		g.open()
	}
}

// open opens the gate for all logins.
func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.isOpen {
		g.isOpen = true
		close(g.opened)
	}
}

// pass waits until the gate is open.
func (g *gate) pass(ctx context.Context, say func(string)) error {
	g.mu.Lock()
	var names []string
	for s := range g.waiting {
		names = append(names, s.DisplayName)
	}
	g.mu.Unlock()
	select {
	case <-g.opened:
		return nil
	default:
	}
	say("The workspace is still starting; this login waits for: " + strings.Join(names, ", "))
	select {
	case <-g.opened:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
