// Package oauth2cmd is the command oauth2-provider: the settings of the OAuth2 provider
// for owners, and the applications that act for the user.
package oauth2cmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

// Command returns the command oauth2-provider.
func Command(a *command.Run) *command.Command {
	return &command.Command{
		Name:  "oauth2-provider",
		Short: "Manage applications that act for users with OAuth2",
		Long:  "The server needs --oauth2-provider-enable. Owners manage applications in the dashboard.",
		Examples: []command.Example{
			{Text: "Let editors and MCP clients register themselves", Line: "coder oauth2-provider dcr enable"},
			{Text: "List the applications that act for you", Line: "coder oauth2-provider grants list"},
			{Text: "Revoke the access of an application", Line: "coder oauth2-provider grants revoke Backstage"},
		},
		Subs: []*command.Command{
			{
				Name: "dcr", Short: "Manage dynamic client registration",
				Long: "With dynamic client registration, applications register themselves. Users still authorize each of them.",
				Subs: []*command.Command{registrationCommand(a, "enable", true), registrationCommand(a, "disable", false)},
			},
			{
				Name: "grants", Short: "Manage the applications that act for you",
				Subs: []*command.Command{grantsListCommand(a), grantsRevokeCommand(a)},
			},
		},
	}
}

// registrationCommand returns dcr enable or dcr disable.
func registrationCommand(a *command.Run, name string, on bool) *command.Command {
	short := "Let applications register themselves"
	if !on {
		short = "Refuse new registrations; registered applications stay"
	}
	return &command.Command{
		Name: name, Max: 0, Short: short,
		Run: func(ctx context.Context, _ []string) error {
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			if _, err := c.PutOAuth2ProviderSettings(ctx, codersdk.OAuth2ProviderSettings{DynamicClientRegistrationEnabled: on}); err != nil {
				return providerOff(err)
			}
			_, err = fmt.Fprintf(a.Stdout, "Dynamic client registration is %sd.\n", name)
			return err
		},
	}
}

// providerOff explains the failure of a request to a server whose OAuth2 provider is off. Its endpoints do not exist.
func providerOff(err error) error {
	if codersdk.Is(err, codersdk.CodeNotFound) {
		return command.Failure("the OAuth2 provider of this server is off; an administrator turns it on with --oauth2-provider-enable")
	}
	return err
}

func grantsListCommand(a *command.Run) *command.Command {
	l := &command.Listing[codersdk.OAuth2ProviderGrant]{
		NoMatch: "No application acts for you.",
		All: []command.Column[codersdk.OAuth2ProviderGrant]{
			{Name: "application", Show: func(g codersdk.OAuth2ProviderGrant) string { return g.App.Name }},
			{Name: "client id", Show: func(g codersdk.OAuth2ProviderGrant) string { return g.App.ID.String() }},
			{Name: "scopes", Show: func(g codersdk.OAuth2ProviderGrant) string { return scopeNames(g.Scopes) }},
			{Name: "resource", Show: func(g codersdk.OAuth2ProviderGrant) string { return g.Resource }},
			{Name: "created at", Show: func(g codersdk.OAuth2ProviderGrant) string { return command.Date(g.CreatedAt) }},
			{Name: "last used at", Show: func(g codersdk.OAuth2ProviderGrant) string { return command.Date(g.LastUsedAt) }},
			{Name: "expires at", Show: func(g codersdk.OAuth2ProviderGrant) string { return command.Date(g.ExpiresAt) }},
		},
	}
	return &command.Command{
		Name: "list", Aliases: []string{"ls"}, Max: 0,
		Short:   "List the applications that act for you",
		Options: []*option.Option{l.ColumnOption("application,client id,scopes,last used at,expires at"), l.FormatOption()},
		Run: func(ctx context.Context, _ []string) error {
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			all, err := c.OAuth2ProviderGrants(ctx)
			if err != nil {
				return providerOff(err)
			}
			return l.Write(a, all)
		},
	}
}

func scopeNames(scopes []codersdk.APIKeyScope) string {
	names := make([]string, len(scopes))
	for i, s := range scopes {
		names[i] = string(s)
	}
	return strings.Join(names, " ")
}

func grantsRevokeCommand(a *command.Run) *command.Command {
	var yes bool
	return &command.Command{
		Name: "revoke", Args: "<application | client ID>", Min: 1, Max: 1,
		Short:   "Revoke the access of an application to your account",
		Long:    "All tokens that act for you in the application end immediately. You can authorize the application again.",
		Options: []*option.Option{command.Yes(&yes)},
		Run: func(ctx context.Context, args []string) error {
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			all, err := c.OAuth2ProviderGrants(ctx)
			if err != nil {
				return providerOff(err)
			}
			app, err := findGrant(all, args[0])
			if err != nil {
				return err
			}
			if err := a.Confirm("Revoke the access of "+app.Name+"?", yes); err != nil {
				return err
			}
			if err := c.RevokeOAuth2ProviderApp(ctx, app.ID); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Stdout, "Revoked the access of %s.\n", app.Name)
			return err
		},
	}
}

// findGrant returns the application with a client ID, or the only one with a name. Applications that registered
// themselves can have equal names.
func findGrant(grants []codersdk.OAuth2ProviderGrant, name string) (codersdk.OAuth2ProviderApp, error) {
	found := map[uuid.UUID]codersdk.OAuth2ProviderApp{}
	for _, g := range grants {
		if g.App.ID.String() == name {
			return g.App, nil
		}
		if g.App.Name == name {
			found[g.App.ID] = g.App
		}
	}
	for _, app := range found {
		if len(found) > 1 {
			return app, command.Failure("%d applications have the name %q; use the client ID, which 'coder oauth2-provider grants list' shows", len(found), name)
		}
		return app, nil
	}
	return codersdk.OAuth2ProviderApp{}, command.Failure("no application %q acts for you; see 'coder oauth2-provider grants list'", name)
}
