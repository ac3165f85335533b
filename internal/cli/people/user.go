package people

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
	"github.com/seed-2a7f8fe7/coder/internal/cli/terminal"
)

func userColumns(ids bool) []app.Column[coder.User] {
	all := []app.Column[coder.User]{
		{Name: "id", Show: func(u coder.User) string { return u.ID.String() }},
		{Name: "username", Show: func(u coder.User) string { return u.Username }},
		{Name: "name", Show: func(u coder.User) string { return u.Name }},
		{Name: "email", Show: func(u coder.User) string { return u.Email }},
		{Name: "created at", Show: func(u coder.User) string { return app.Date(u.CreatedAt) }},
		{Name: "updated at", Show: func(u coder.User) string { return app.Date(u.UpdatedAt) }},
		{Name: "status", Show: func(u coder.User) string { return string(u.Status) }},
	}
	if ids {
		return all
	}
	return []app.Column[coder.User]{all[1], all[3], all[4], all[6]}
}

func usersCommand(a *app.Run) *app.Command {
	return &app.Command{
		Name: "users", Aliases: []string{"user"}, Args: "[subcommand]", RawUsage: true,
		Short: "Manage the users of the server.",
		Subs: []*app.Command{
			usersCreateCommand(a), usersListCommand(a), usersShowCommand(a), usersDeleteCommand(a),
			usersRolesCommand(a), usersStatusCommand(a, "activate", []string{"active"}), usersStatusCommand(a, "suspend", nil),
		},
	}
}

// userCreateOptions are the flags of users create.
type userCreateOptions struct {
	req            coder.CreateUserRequestWithOrgs
	loginType, org string
}

func usersCreateCommand(a *app.Run) *app.Command {
	var o userCreateOptions
	return &app.Command{
		Name: "create", Max: 0,
		Short: "Make a user.",
		Long:  "What no flag gives is asked for. Without a password a random one is made and printed once.",
		Options: []*option.Option{
			option.String(&o.req.Email, "email", "E-mail address.").Short("e"),
			option.String(&o.req.Username, "username", "Name to sign in and to be found with.").Short("u"),
			option.String(&o.req.Name, "full-name", "Full name.").Short("n"),
			option.String(&o.req.Password, "password", "First password.").Short("p"),
			option.String(&o.loginType, "login-type", "How the user signs in: password (default), oidc, github or none."),
			app.Org(&o.org),
		},
		Run: func(ctx context.Context, _ []string) error { return usersCreate(ctx, a, &o) },
	}
}

func usersCreate(ctx context.Context, a *app.Run, o *userCreateOptions) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	organization, err := a.Organization(ctx, c, o.org)
	if err != nil {
		return err
	}
	req := o.req
	req.OrganizationIDs = []uuid.UUID{organization.ID}
	req.LoginType = coder.LoginType(o.loginType)
	if req.Username == "" {
		if req.Username, err = a.Ask("Name:", "", "use --username", func(s string) error { return coder.CheckName("username", s) }); err != nil {
			return err
		}
	}
	if req.Email == "" {
		if req.Email, err = a.Ask("E-mail address:", "", "use --email", func(s string) error { return coder.CheckEmail("email", s) }); err != nil {
			return err
		}
	}
	made := req.Password == "" && (req.LoginType == "" || req.LoginType == coder.LoginTypePassword)
	if made {
		req.Password = randomPassword()
	}
	u, err := c.CreateUser(ctx, req)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Stdout, "Made user %s.\n", a.Painter(a.Stdout).Bold(u.Username))
	if made {
		fmt.Fprintf(a.Stdout, "They sign in with the password %s and should change it.\n", req.Password)
	}
	return nil
}

// randomPassword has about 120 random bits.
func randomPassword() string {
	b := make([]byte, 15)
	rand.Read(b) //nolint:errcheck // documented never to fail
	return base64.RawURLEncoding.EncodeToString(b)
}

func usersListCommand(a *app.Run) *app.Command {
	l := &app.Listing[coder.User]{All: userColumns(true), NoMatch: "No users."}
	var github int
	return &app.Command{
		Name: "list", Aliases: []string{"ls"}, Max: 0,
		Short: "List the users.",
		Options: []*option.Option{
			option.Int(&github, "github-user-id", "Only the user with this GitHub id."),
			l.ColumnOption("username,email,created at,status"), l.FormatOption(),
		},
		Run: func(ctx context.Context, _ []string) error {
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			q := url.Values{}
			if github != 0 {
				q.Set("q", "github_com_user_id:"+strconv.Itoa(github))
			}
			var all []coder.User
			for {
				q.Set("limit", "200")
				q.Set("offset", strconv.Itoa(len(all)))
				page, err := c.Users(ctx, q)
				if err != nil {
					return err
				}
				all = append(all, page.Users...)
				if len(page.Users) == 0 || len(all) >= page.Count {
					return l.Write(a, all)
				}
			}
		},
	}
}

func usersShowCommand(a *app.Run) *app.Command {
	l := &app.Listing[coder.User]{}
	return &app.Command{
		Name: "show", Args: "<username|user_id|'me'>", Min: 1, Max: 1,
		Short:   "Show one user.",
		Options: []*option.Option{l.FormatOption()},
		Run: func(ctx context.Context, args []string) error {
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			u, err := c.User(ctx, args[0])
			if err != nil {
				return err
			}
			if l.Format == "json" {
				return app.WriteJSON(a.Stdout, u)
			}
			var orgs []string
			for _, id := range u.OrganizationIDs {
				orgs = append(orgs, id.String())
			}
			return terminal.Table(a.Stdout, a.Painter(a.Stdout), []string{"USER", ""}, [][]string{
				{"id", u.ID.String()}, {"username", u.Username}, {"full name", u.Name}, {"email", u.Email},
				{"status", string(u.Status)}, {"login type", string(u.LoginType)}, {"roles", roleNames(u.Roles)},
				{"organizations", strings.Join(orgs, ", ")},
				{"created at", app.Date(u.CreatedAt)}, {"last seen at", app.Date(u.LastSeenAt)},
			})
		},
	}
}

func usersDeleteCommand(a *app.Run) *app.Command {
	return &app.Command{
		Name: "delete", Aliases: []string{"rm"}, Args: "<username|user_id>", Min: 1, Max: 1,
		Short: "Delete a user, who must have no workspaces left.",
		Run: func(ctx context.Context, args []string) error {
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			u, err := c.User(ctx, args[0])
			if err != nil {
				return err
			}
			if err := c.DeleteUser(ctx, u.ID.String()); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Stdout, "Deleted user %s.\n", u.Username)
			return err
		},
	}
}

func usersRolesCommand(a *app.Run) *app.Command {
	var sure bool
	var roles []string
	o := option.List(&roles, "roles", "Roles of the site that the user shall have, all others are taken away.")
	return &app.Command{
		Name: "edit-roles", Args: "<username|user_id>", Min: 1, Max: 1,
		Short:   "Replace the site roles of a user.",
		Options: []*option.Option{app.Yes(&sure), o},
		Run: func(ctx context.Context, args []string) error {
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			u, err := c.User(ctx, args[0])
			if err != nil {
				return err
			}
			if !o.Given() {
				known, err := c.SiteRoles(ctx)
				if err != nil {
					return err
				}
				if roles, err = askRoles(a, known, u.Roles, "use --roles"); err != nil {
					return err
				}
			}
			question := fmt.Sprintf("Give %s the roles [%s]?", u.Username, strings.Join(roles, ", "))
			if err := a.Confirm(question, sure); err != nil {
				return err
			}
			u, err = c.UpdateUserRoles(ctx, u.ID.String(), coder.UpdateRoles{Roles: roles})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Stdout, "User %s has the roles [%s].\n", u.Username, roleNames(u.Roles))
			return err
		},
	}
}

// askRoles asks for a list of role names.
func askRoles(a *app.Run, known []coder.AssignableRoles, now []coder.SlimRole, instead string) ([]string, error) {
	var names []string
	for _, r := range known {
		names = append(names, r.Name)
	}
	var roles []string
	_, err := a.Ask("Roles out of "+strings.Join(names, ", ")+":", roleNames(now), instead, func(s string) error {
		roles = nil
		for _, r := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' }) {
			if !slices.Contains(names, r) {
				return fmt.Errorf("there is no role %q", r)
			}
			roles = append(roles, r)
		}
		return nil
	})
	return roles, err
}

// usersStatusCommand activates or suspends.
func usersStatusCommand(a *app.Run, verb string, aliases []string) *app.Command {
	l := &app.Listing[coder.User]{All: userColumns(false)}
	short := "Let a suspended or dormant user sign in again."
	if verb == "suspend" {
		short = "Keep a user from signing in and end their sessions."
	}
	return &app.Command{
		Name: verb, Aliases: aliases, Args: "<username|user_id>", Min: 1, Max: 1,
		Short:   short,
		Options: []*option.Option{l.ColumnOption("username,email,created at,status")},
		Run: func(ctx context.Context, args []string) error {
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			change := c.ActivateUser
			if verb == "suspend" {
				change = c.SuspendUser
			}
			u, err := change(ctx, args[0])
			if err != nil {
				return err
			}
			return l.Write(a, []coder.User{u})
		},
	}
}
