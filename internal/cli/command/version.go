package command

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

// program is the output of the version command. Editors compare Version with
// that of /buildinfo, character by character.
type program struct {
	Version     string     `json:"version"`
	BuildTime   *time.Time `json:"build_time,omitempty"` // time of the commit
	ExternalURL string     `json:"external_url"`
	Slim        bool       `json:"slim"` // agent and workspace commands only
	Go          string     `json:"go_version"`
	OS          string     `json:"os"`
	Arch        string     `json:"arch"`
}

// thisProgram describes the running program.
func (a *Run) thisProgram() program {
	p := program{
		Version: codersdk.Version(), ExternalURL: codersdk.ExternalURL, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH,
		Slim: !slices.ContainsFunc(a.Root.Subs, func(c *Command) bool { return c.Name == "server" }),
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if t, err := time.Parse(time.RFC3339, s.Value); s.Key == "vcs.time" && err == nil {
				p.BuildTime = &t
			}
		}
	}
	return p
}

// writeVersion prints p as text. Old clients expect the version as the second
// word, after "Coder"; packagers search for "Full build".
func writeVersion(w io.Writer, p program) error {
	built := "Full build: includes the server, provisioners and proxies."
	if p.Slim {
		built = "Slim build: includes the agent and the workspace commands; other commands are downloaded from the server."
	}
	_, err := fmt.Fprintf(w, "Coder %s %s/%s, built with %s\n%s\n", p.Version, p.OS, p.Arch, p.Go, built)
	return err
}

// VersionCommand returns the version command.
func (a *Run) VersionCommand() *Command {
	l := &Listing[program]{Text: func(w io.Writer, rows []program) error { return writeVersion(w, rows[0]) }}
	return &Command{
		Name: "version", Max: 0,
		Short:   "Show the version of the client",
		Options: []*option.Option{l.FormatOption("text", "json")},
		Run: func(context.Context, []string) error {
			if l.Format == "json" {
				return WriteJSON(a.Stdout, a.thisProgram())
			}
			return l.Write(a, []program{a.thisProgram()})
		},
	}
}
