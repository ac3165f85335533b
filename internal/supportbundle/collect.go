package supportbundle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/redact"
	"github.com/seed-2a7f8fe7/coder/internal/telemetry"
)

const (
	// together is the number of parts that are collected at a time.
	together = 4
	// stepLimit bounds one request or part, runLimit the whole collection.
	stepLimit = 30 * time.Second
	runLimit  = 8 * time.Minute
)

// Config describes a bundle.
type Config struct {
	Client   *codersdk.Client // calls the API as the user who creates the bundle
	Redactor *redact.Redactor
	Now      func() time.Time
	LogName  string // file of the collection's own log

	Workspace      *codersdk.Workspace      // nil for the deployment only, or after WorkspaceError
	WorkspaceError error                    // reason why the named workspace is unknown
	Agent          *codersdk.WorkspaceAgent // nil if the workspace has none
	// Connect connects to the agent. The log is that of the collection.
	Connect func(ctx context.Context, log *slog.Logger) (*AgentConn, error)

	// Template returns the template to include as source; nil for none.
	Template   func(ctx context.Context) (codersdk.Template, error)
	Profiles   bool // include profiles of the servers
	Workspaces int  // maximum number of listed workspaces; 0 means all
	More       []Step
	// Progress is called after each part, never concurrently.
	Progress func(Progress)
}

// AgentConn is a connection to an agent. Collect closes it.
type AgentConn struct {
	HTTP  *http.Client // calls the agent's HTTP API and ignores the host of requests
	More  []Step       // further parts that need the connection
	Close func()       // nil if nothing is to be closed
}

// Progress describes a collection after one of its parts.
type Progress struct {
	Part  string // the part that has just ended
	Err   error  // its error
	Done  int    // parts that have ended
	Total int
}

// Step is one part of a bundle. It may write several files.
type Step struct {
	Name  string
	Limit time.Duration // 0 means 30 seconds
	Run   func(ctx context.Context, b *Bundle) error
}

// Collect writes a bundle to out, in at most 8 minutes. Parts that fail are
// recorded in the manifest. It fails only when ctx ends or out does.
func Collect(ctx context.Context, out io.Writer, c Config) (Manifest, error) {
	m := Manifest{CreatedAt: c.Now().UTC(), ServerURL: c.Client.URL.Redacted(), ClientVersion: codersdk.Version()}
	if c.Workspace != nil {
		m.Workspace = c.Workspace.OwnerName + "/" + c.Workspace.Name
	}
	if c.Agent != nil {
		m.Agent = c.Agent.Name
	}
	k := &collector{Config: c, client: c.Client, bundle: newBundle(out, c.Redactor, m)}
	k.log = slog.New(slog.NewTextHandler(&k.recent, &slog.HandlerOptions{Level: slog.LevelDebug}))
	k.collect(ctx)
	if err := ctx.Err(); err != nil {
		return Manifest{}, err
	}
	return k.bundle.finish()
}

// collector collects the parts of one bundle.
type collector struct {
	Config
	client *codersdk.Client
	bundle *Bundle

	recent telemetry.Recent
	log    *slog.Logger
}

// collect runs all steps, several at a time.
func (k *collector) collect(ctx context.Context) {
	whole, cancel := context.WithTimeout(ctx, runLimit)
	defer cancel()
	steps := k.deploymentSteps()
	steps = append(steps, k.workspaceSteps()...)
	steps = append(steps, k.More...)
	k.bundle.Fail("workspace", k.WorkspaceError)
	slots := make(chan struct{}, together)
	var all sync.WaitGroup
	var mu sync.Mutex
	done := 0
	for _, s := range steps {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			err := k.part(whole, s)
			mu.Lock()
			defer mu.Unlock()
			done++
			if k.Progress != nil {
				k.Progress(Progress{Part: s.Name, Err: err, Done: done, Total: len(steps)})
			}
		})
	}
	all.Wait()
	k.bundle.Fail(k.LogName, k.bundle.Add(k.LogName, k.recent.Bytes()))
}

// part runs one step within its time limit and records its error. A panic
// counts as an error.
func (k *collector) part(ctx context.Context, s Step) (err error) {
	limit := s.Limit
	if limit == 0 {
		limit = stepLimit
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	start := time.Now()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
		if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = codersdk.Errorf(codersdk.CodeUnavailable, "no answer within %s", limit).WithCause(err)
		}
		k.bundle.Fail(s.Name, err)
		k.log.Info("collected", "part", s.Name, "took", time.Since(start), "error", err)
	}()
	return s.Run(ctx, k.bundle)
}

// get returns the body of an API path, at most a byte more than a file may have.
func (k *collector) get(ctx context.Context, path string, q url.Values) ([]byte, error) {
	resp, err := k.client.Request(ctx, "GET", path, q, nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		return nil, codersdk.ReadError(resp)
	}
	return io.ReadAll(io.LimitReader(resp.Body, maxPart+1))
}

// file returns the step that stores the response of an API path.
func (k *collector) file(name, path string, q url.Values) Step {
	return Step{Name: name, Run: func(ctx context.Context, b *Bundle) error {
		body, err := k.get(ctx, path, q)
		if err != nil {
			return err
		}
		return b.Add(name, body)
	}}
}
