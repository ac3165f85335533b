package cli

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
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
	"github.com/seed-2a7f8fe7/coder/internal/cli/terminal"
)

func userColumns(ids bool) []column[coder.User] {
	all := []column[coder.User]{
		{"id", func(u coder.User) string { return u.ID.String() }},
		{"username", func(u coder.User) string { return u.Username }},
		{"name", func(u coder.User) string { return u.Name }},
		{"email", func(u coder.User) string { return u.Email }},
		{"created at", func(u coder.User) string { return date(u.CreatedAt) }},
		{"updated at", func(u coder.User) string { return date(u.UpdatedAt) }},
		{"status", func(u coder.User) string { return string(u.Status) }},
	}
	if ids {
		return all
	}
	return []column[coder.User]{all[1], all[3], all[4], all[6]}
}

func (a *app) usersCommand() *command {
	return &command{
		name: "users", aliases: []string{"user"}, args: "[subcommand]", rawUsage: true,
		short: "Manage the users of the server.",
		subs: []*command{
			a.usersCreateCommand(), a.usersListCommand(), a.usersShowCommand(), a.usersDeleteCommand(),
			a.usersRolesCommand(), a.usersStatusCommand("activate", []string{"active"}), a.usersStatusCommand("suspend", nil),
		},
	}
}

// userCreateOptions are the flags of users create.
type userCreateOptions struct {
	req            coder.CreateUserRequestWithOrgs
	loginType, org string
}

func (a *app) usersCreateCommand() *command {
	var o userCreateOptions
	return &command{
		name: "create", max: 0,
		short: "Make a user.",
		long:  "What no flag gives is asked for. Without a password a random one is made and printed once.",
		options: []*option.Option{
			option.String(&o.req.Email, "email", "E-mail address.").Short("e"),
			option.String(&o.req.Username, "username", "Name to sign in and to be found with.").Short("u"),
			option.String(&o.req.Name, "full-name", "Full name.").Short("n"),
			option.String(&o.req.Password, "password", "First password.").Short("p"),
			option.String(&o.loginType, "login-type", "How the user signs in: password (default), oidc, github or none."),
			org(&o.org),
		},
		run: func(ctx context.Context, _ []string) error { return a.usersCreate(ctx, &o) },
	}
}

func (a *app) usersCreate(ctx context.Context, o *userCreateOptions) error {
	c, err := a.client(ctx)
	if err != nil {
		return err
	}
	organization, err := a.organization(ctx, c, o.org)
	if err != nil {
		return err
	}
	req := o.req
	req.OrganizationIDs = []uuid.UUID{organization.ID}
	req.LoginType = coder.LoginType(o.loginType)
	if req.Username == "" {
		if req.Username, err = a.ask("Name:", "", "use --username", func(s string) error { return coder.CheckName("username", s) }); err != nil {
			return err
		}
	}
	if req.Email == "" {
		if req.Email, err = a.ask("E-mail address:", "", "use --email", func(s string) error { return coder.CheckEmail("email", s) }); err != nil {
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
	fmt.Fprintf(a.stdout, "Made user %s.\n", a.painter(a.stdout).Bold(u.Username))
	if made {
		fmt.Fprintf(a.stdout, "They sign in with the password %s and should change it.\n", req.Password)
	}
	return nil
}

// randomPassword has about 120 random bits.
func randomPassword() string {
	b := make([]byte, 15)
	rand.Read(b) //nolint:errcheck // documented never to fail
	return base64.RawURLEncoding.EncodeToString(b)
}

func (a *app) usersListCommand() *command {
	l := &listing[coder.User]{all: userColumns(true), noMatch: "No users."}
	var github int
	return &command{
		name: "list", aliases: []string{"ls"}, max: 0,
		short: "List the users.",
		options: []*option.Option{
			option.Int(&github, "github-user-id", "Only the user with this GitHub id."),
			l.columnOption("username,email,created at,status"), l.formatOption(),
		},
		run: func(ctx context.Context, _ []string) error {
			c, err := a.client(ctx)
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
					return l.write(a, all)
				}
			}
		},
	}
}

func (a *app) usersShowCommand() *command {
	l := &listing[coder.User]{}
	return &command{
		name: "show", args: "<username|user_id|'me'>", min: 1, max: 1,
		short:   "Show one user.",
		options: []*option.Option{l.formatOption()},
		run: func(ctx context.Context, args []string) error {
			c, err := a.client(ctx)
			if err != nil {
				return err
			}
			u, err := c.User(ctx, args[0])
			if err != nil {
				return err
			}
			if l.format == "json" {
				return writeJSON(a.stdout, u)
			}
			var orgs []string
			for _, id := range u.OrganizationIDs {
				orgs = append(orgs, id.String())
			}
			return terminal.Table(a.stdout, a.painter(a.stdout), []string{"USER", ""}, [][]string{
				{"id", u.ID.String()}, {"username", u.Username}, {"full name", u.Name}, {"email", u.Email},
				{"status", string(u.Status)}, {"login type", string(u.LoginType)}, {"roles", roleNames(u.Roles)},
				{"organizations", strings.Join(orgs, ", ")},
				{"created at", date(u.CreatedAt)}, {"last seen at", date(u.LastSeenAt)},
			})
		},
	}
}

func (a *app) usersDeleteCommand() *command {
	return &command{
		name: "delete", aliases: []string{"rm"}, args: "<username|user_id>", min: 1, max: 1,
		short: "Delete a user, who must have no workspaces left.",
		run: func(ctx context.Context, args []string) error {
			c, err := a.client(ctx)
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
			_, err = fmt.Fprintf(a.stdout, "Deleted user %s.\n", u.Username)
			return err
		},
	}
}

func (a *app) usersRolesCommand() *command {
	var sure bool
	var roles []string
	o := option.List(&roles, "roles", "Roles of the site that the user shall have, all others are taken away.")
	return &command{
		name: "edit-roles", args: "<username|user_id>", min: 1, max: 1,
		short:   "Replace the site roles of a user.",
		options: []*option.Option{yes(&sure), o},
		run: func(ctx context.Context, args []string) error {
			c, err := a.client(ctx)
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
				if roles, err = a.askRoles(known, u.Roles, "use --roles"); err != nil {
					return err
				}
			}
			question := fmt.Sprintf("Give %s the roles [%s]?", u.Username, strings.Join(roles, ", "))
			if err := a.confirm(question, sure); err != nil {
				return err
			}
			u, err = c.UpdateUserRoles(ctx, u.ID.String(), coder.UpdateRoles{Roles: roles})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.stdout, "User %s has the roles [%s].\n", u.Username, roleNames(u.Roles))
			return err
		},
	}
}

// askRoles asks for a list of role names.
func (a *app) askRoles(known []coder.AssignableRoles, now []coder.SlimRole, instead string) ([]string, error) {
	var names []string
	for _, r := range known {
		names = append(names, r.Name)
	}
	var roles []string
	_, err := a.ask("Roles out of "+strings.Join(names, ", ")+":", roleNames(now), instead, func(s string) error {
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
func (a *app) usersStatusCommand(verb string, aliases []string) *command {
	l := &listing[coder.User]{all: userColumns(false)}
	short := "Let a suspended or dormant user sign in again."
	if verb == "suspend" {
		short = "Keep a user from signing in and end their sessions."
	}
	return &command{
		name: verb, aliases: aliases, args: "<username|user_id>", min: 1, max: 1,
		short:   short,
		options: []*option.Option{l.columnOption("username,email,created at,status")},
		run: func(ctx context.Context, args []string) error {
			c, err := a.client(ctx)
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
			return l.write(a, []coder.User{u})
		},
	}
}
