package app

import (
	"context"
	"fmt"
	"io"
	"runtime"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
)

// program is what version shows.
type program struct {
	Version string `json:"version"`
	Go      string `json:"go_version"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

// VersionCommand shows which program this is.
func (a *Run) VersionCommand() *Command {
	l := &Listing[program]{Text: func(w io.Writer, rows []program) error {
		_, err := fmt.Fprintf(w, "coder %s %s/%s, built with %s\n", rows[0].Version, rows[0].OS, rows[0].Arch, rows[0].Go)
		return err
	}}
	return &Command{
		Name: "version", Max: 0,
		Short:   "Show the version of this program.",
		Options: []*option.Option{l.FormatOption("text", "json")},
		Run: func(context.Context, []string) error {
			p := program{Version: coder.Version(), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
			if l.Format == "json" {
				return WriteJSON(a.Stdout, p)
			}
			return l.Write(a, []program{p})
		},
	}
}
