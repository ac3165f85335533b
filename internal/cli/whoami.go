package cli

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
)

// identity is what whoami shows.
type identity struct {
	URL           string           `json:"url"`
	Username      string           `json:"username"`
	ID            string           `json:"id"`
	Organizations []string         `json:"organization_ids"`
	Roles         []coder.SlimRole `json:"roles"`
}

func (a *app) whoamiCommand() *command {
	l := &listing[identity]{
		all: []column[identity]{
			{"URL", func(i identity) string { return i.URL }},
			{"Username", func(i identity) string { return i.Username }},
			{"ID", func(i identity) string { return i.ID }},
			{"Orgs", func(i identity) string { return strings.Join(i.Organizations, ",") }},
			{"Roles", func(i identity) string { return roleNames(i.Roles) }},
		},
		text: func(w io.Writer, rows []identity) error {
			_, err := fmt.Fprintf(w, "Signed in to %s as %s.\n", rows[0].URL, rows[0].Username)
			return err
		},
	}
	return &command{
		name: "whoami", max: 0,
		short:   "Show who you are signed in as, and where.",
		options: []*option.Option{l.columnOption("url,username,id"), l.formatOption("text", "json", "table")},
		run: func(ctx context.Context, _ []string) error {
			c, err := a.client(ctx)
			if err != nil {
				return err
			}
			me, err := c.User(ctx, "me")
			if err != nil {
				return err
			}
			who := identity{URL: c.URL.String(), Username: me.Username, ID: me.ID.String(), Roles: me.Roles}
			for _, id := range me.OrganizationIDs {
				who.Organizations = append(who.Organizations, id.String())
			}
			return l.write(a, []identity{who})
		},
	}
}

func roleNames(roles []coder.SlimRole) string {
	var names []string
	for _, r := range roles {
		names = append(names, r.Name)
	}
	return strings.Join(names, ",")
}

// program is what version shows.
type program struct {
	Version string `json:"version"`
	Go      string `json:"go_version"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

func (a *app) versionCommand() *command {
	l := &listing[program]{text: func(w io.Writer, rows []program) error {
		_, err := fmt.Fprintf(w, "coder %s %s/%s, built with %s\n", rows[0].Version, rows[0].OS, rows[0].Arch, rows[0].Go)
		return err
	}}
	return &command{
		name: "version", max: 0,
		short:   "Show the version of this program.",
		options: []*option.Option{l.formatOption("text", "json")},
		run: func(context.Context, []string) error {
			p := program{Version: coder.Version(), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
			if l.format == "json" {
				return writeJSON(a.stdout, p)
			}
			return l.write(a, []program{p})
		},
	}
}
