package user

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

// identity is the output of whoami.
type identity struct {
	URL           string              `json:"url"`
	Username      string              `json:"username"`
	ID            string              `json:"id"`
	Organizations []string            `json:"organization_ids"`
	Roles         []codersdk.SlimRole `json:"roles"`
}

func whoamiCommand(a *command.Run) *command.Command {
	l := &command.Listing[identity]{
		All: []command.Column[identity]{
			{Name: "URL", Show: func(i identity) string { return i.URL }},
			{Name: "Username", Show: func(i identity) string { return i.Username }},
			{Name: "ID", Show: func(i identity) string { return i.ID }},
			{Name: "Orgs", Show: func(i identity) string { return strings.Join(i.Organizations, ",") }},
			{Name: "Roles", Show: func(i identity) string { return roleNames(i.Roles) }},
		},
		Text: func(w io.Writer, rows []identity) error {
			_, err := fmt.Fprintf(w, "Signed in to %s as %s.\n", rows[0].URL, rows[0].Username)
			return err
		},
	}
	return &command.Command{
		Name: "whoami", Max: 0,
		Short:   "Show the current user and server",
		Options: []*option.Option{l.ColumnOption("url,username,id"), l.FormatOption("text", "json", "table")},
		Run: func(ctx context.Context, _ []string) error {
			c, err := a.Client(ctx)
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
			return l.Write(a, []identity{who})
		},
	}
}

func roleNames(roles []codersdk.SlimRole) string {
	var names []string
	for _, r := range roles {
		names = append(names, r.Name)
	}
	return strings.Join(names, ",")
}
