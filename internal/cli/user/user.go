package user

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/cli/terminal"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

func userColumns(ids bool) []command.Column[codersdk.User] {
	all := []command.Column[codersdk.User]{
		{Name: "id", Show: func(u codersdk.User) string { return u.ID.String() }},
		{Name: "username", Show: func(u codersdk.User) string { return u.Username }},
		{Name: "name", Show: func(u codersdk.User) string { return u.Name }},
		{Name: "email", Show: func(u codersdk.User) string { return u.Email }},
		{Name: "created at", Show: func(u codersdk.User) string { return command.Date(u.CreatedAt) }},
		{Name: "updated at", Show: func(u codersdk.User) string { return command.Date(u.UpdatedAt) }},
		{Name: "status", Show: func(u codersdk.User) string { return string(u.Status) }},
	}
	if ids {
		return all
	}
	return []command.Column[codersdk.User]{all[1], all[3], all[4], all[6]}
}

func usersCommand(a *command.Run) *command.Command {
	return &command.Command{
		Name: "users", Aliases: []string{"user"}, Args: "[subcommand]", RawUsage: true,
		Short: "Manage users",
		Subs: []*command.Command{
			usersCreateCommand(a), usersListCommand(a), usersShowCommand(a), usersDeleteCommand(a),
			usersRolesCommand(a), usersStatusCommand(a, "activate", []string{"active"}), usersStatusCommand(a, "suspend", nil),
		},
	}
}

// userCreateOptions holds the flags of users create.
type userCreateOptions struct {
	req            codersdk.CreateUserRequestWithOrgs
	loginType, org string
	owner          string
	expiresIn      time.Duration
	scopes         []string
}

func usersCreateCommand(a *command.Run) *command.Command {
	var o userCreateOptions
	return &command.Command{
		Name: "create", Max: 0,
		Short: "Create a user",
		Long:  "Prompts for values that no flag sets. Without a password a random one is generated and printed once.",
		Options: []*option.Option{
			option.String(&o.req.Email, "email", "Email address").Short("e"),
			option.String(&o.req.Username, "username", "Username").Short("u"),
			option.String(&o.req.Name, "full-name", "Full name").Short("n"),
			option.String(&o.req.Password, "password", "Initial password").Short("p"),
			option.String(&o.loginType, "login-type", "Login type: password (default), oidc, github or none"),
			option.Bool(&o.req.ServiceAccount, "service-account", "Create a service account, which has no email and no password and uses tokens only"),
			option.String(&o.owner, "service-account-owner", "User who is responsible for the service account; default: you"),
			option.Duration(&o.expiresIn, "service-account-expires-in", "Time until the service account expires with its tokens; default: never"),
			option.List(&o.scopes, "service-account-scope", "Scope that tokens of the service account can have; default: all"),
			command.Org(&o.org),
		},
		Run: func(ctx context.Context, _ []string) error { return usersCreate(ctx, a, &o) },
	}
}

func usersCreate(ctx context.Context, a *command.Run, o *userCreateOptions) error {
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
	req.LoginType = codersdk.LoginType(o.loginType)
	if req.Username == "" {
		if req.Username, err = a.Ask("Name:", "", "use --username", func(s string) error { return codersdk.CheckName("username", s) }); err != nil {
			return err
		}
	}
	if err := o.serviceAccount(ctx, c, &req); err != nil {
		return err
	}
	if req.Email == "" && !req.ServiceAccount {
		if req.Email, err = a.Ask("Email address:", "", "use --email", func(s string) error { return codersdk.CheckEmail("email", s) }); err != nil {
			return err
		}
	}
	made := req.Password == "" && !req.ServiceAccount && (req.LoginType == "" || req.LoginType == codersdk.LoginTypePassword)
	if made {
		req.Password = randomPassword()
	}
	u, err := c.CreateUser(ctx, req)
	if err != nil {
		return err
	}
	if req.ServiceAccount {
		fmt.Fprintf(a.Stdout, "Created service account %s.\n", a.Painter(a.Stdout).Bold(u.Username))
		fmt.Fprintf(a.Stdout, "Create a token for it with: coder tokens create --user %s\n", u.Username)
		return nil
	}
	fmt.Fprintf(a.Stdout, "Created user %s.\n", a.Painter(a.Stdout).Bold(u.Username))
	if made {
		fmt.Fprintf(a.Stdout, "The initial password is %s. The user should change it after the first sign-in.\n", req.Password)
	}
	return nil
}

// serviceAccount sets the settings of a service account from the flags, which no other user has.
func (o *userCreateOptions) serviceAccount(ctx context.Context, c *codersdk.Client, req *codersdk.CreateUserRequestWithOrgs) error {
	if !req.ServiceAccount {
		if o.owner != "" || o.expiresIn != 0 || len(o.scopes) > 0 {
			return codersdk.Errorf(codersdk.CodeInvalid, "--service-account-owner, --service-account-expires-in and --service-account-scope require --service-account")
		}
		return nil
	}
	req.ServiceAccountSettings = &codersdk.UpdateServiceAccountRequest{}
	if o.owner != "" {
		u, err := c.User(ctx, o.owner)
		if err != nil {
			return err
		}
		req.ServiceAccountSettings.OwnerID = &u.ID
	}
	if o.expiresIn != 0 {
		at := time.Now().Add(o.expiresIn)
		req.ServiceAccountSettings.ExpiresAt = &at
	}
	for _, s := range o.scopes {
		req.ServiceAccountSettings.Scopes = append(req.ServiceAccountSettings.Scopes, codersdk.APIKeyScope(s))
	}
	return nil
}

// randomPassword returns a password with about 120 bits of entropy.
func randomPassword() string {
	b := make([]byte, 15)
	rand.Read(b) //nolint:errcheck // documented never to fail
	return base64.RawURLEncoding.EncodeToString(b)
}

func usersListCommand(a *command.Run) *command.Command {
	l := &command.Listing[codersdk.User]{All: userColumns(true), NoMatch: "No users found."}
	var github int
	var services bool
	return &command.Command{
		Name: "list", Aliases: []string{"ls"}, Max: 0,
		Short: "List users",
		Options: []*option.Option{
			option.Int(&github, "github-user-id", "GitHub user ID to filter by"),
			option.Bool(&services, "service-accounts", "List service accounts only"),
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
			if services {
				q.Set("q", strings.TrimSpace(q.Get("q")+" service_account:true"))
			}
			var all []codersdk.User
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

func usersShowCommand(a *command.Run) *command.Command {
	l := &command.Listing[codersdk.User]{}
	return &command.Command{
		Name: "show", Args: "<username|user_id|'me'>", Min: 1, Max: 1,
		Short:   "Show a user",
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
				return command.WriteJSON(a.Stdout, u)
			}
			var orgs []string
			for _, id := range u.OrganizationIDs {
				orgs = append(orgs, id.String())
			}
			return terminal.Table(a.Stdout, a.Painter(a.Stdout), []string{"USER", ""}, [][]string{
				{"id", u.ID.String()}, {"username", u.Username}, {"full name", u.Name}, {"email", u.Email},
				{"status", string(u.Status)}, {"login type", string(u.LoginType)}, {"roles", roleNames(u.Roles)},
				{"organizations", strings.Join(orgs, ", ")},
				{"created at", command.Date(u.CreatedAt)}, {"last seen at", command.Date(u.LastSeenAt)},
			})
		},
	}
}

func usersDeleteCommand(a *command.Run) *command.Command {
	return &command.Command{
		Name: "delete", Aliases: []string{"rm"}, Args: "<username|user_id>", Min: 1, Max: 1,
		Short: "Delete a user (fails while the user has workspaces)",
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

func usersRolesCommand(a *command.Run) *command.Command {
	var sure bool
	var roles []string
	o := option.List(&roles, "roles", "Site roles of the user; all other site roles are removed")
	return &command.Command{
		Name: "edit-roles", Args: "<username|user_id>", Min: 1, Max: 1,
		Short:   "Replace the site roles of a user",
		Options: []*option.Option{command.Yes(&sure), o},
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
			question := fmt.Sprintf("Set the roles of %s to [%s]?", u.Username, strings.Join(roles, ", "))
			if err := a.Confirm(question, sure); err != nil {
				return err
			}
			u, err = c.UpdateUserRoles(ctx, u.ID.String(), codersdk.UpdateRoles{Roles: roles})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Stdout, "User %s has the roles [%s].\n", u.Username, roleNames(u.Roles))
			return err
		},
	}
}

// askRoles prompts for a list of role names.
func askRoles(a *command.Run, known []codersdk.AssignableRoles, now []codersdk.SlimRole, instead string) ([]string, error) {
	var names []string
	for _, r := range known {
		names = append(names, r.Name)
	}
	var roles []string
	_, err := a.Ask("Roles, any of "+strings.Join(names, ", ")+":", roleNames(now), instead, func(s string) error {
		roles = nil
		for _, r := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' }) {
			if !slices.Contains(names, r) {
				return fmt.Errorf("role %q not found", r)
			}
			roles = append(roles, r)
		}
		return nil
	})
	return roles, err
}

// usersStatusCommand returns users activate or users suspend.
func usersStatusCommand(a *command.Run, verb string, aliases []string) *command.Command {
	l := &command.Listing[codersdk.User]{All: userColumns(false)}
	short := "Activate a suspended or dormant user"
	if verb == "suspend" {
		short = "Suspend a user and end their sessions"
	}
	return &command.Command{
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
			return l.Write(a, []codersdk.User{u})
		},
	}
}
