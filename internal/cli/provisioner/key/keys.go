// Package key is the commands of provisioner keys.
package key

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

// Create returns the command provisioner keys create.
func Create(a *command.Run) *command.Command {
	var tags []string
	var expires time.Duration
	var ref string
	return &command.Command{
		Name: "create", Args: "<name>", Min: 1, Max: 1,
		Short: "Create a provisioner key and print it",
		Long:  "Provisioners that use the key belong to its organization and have its tags.",
		Options: []*option.Option{
			option.List(&tags, "tag", "Tag of the provisioners that use the key, as key=value (repeatable)").Short("t").Env("CODER_PROVISIONERD_TAGS"),
			expiresOption(&expires),
			command.Org(&ref),
		},
		Run: func(ctx context.Context, args []string) error {
			set, err := option.Pairs("--tag", tags)
			if err != nil {
				return command.Failure("%s", err)
			}
			if err := codersdk.CheckTags("tag", set); err != nil {
				return err
			}
			seconds, err := keySeconds("--expires-in", expires)
			if err != nil {
				return err
			}
			c, o, err := a.ClientAndOrganization(ctx, ref)
			if err != nil {
				return err
			}
			key, err := c.CreateProvisionerKey(ctx, o.ID.String(), codersdk.CreateProvisionerKeyRequest{Name: args[0], Tags: set, ExpiresInSeconds: seconds})
			if err != nil {
				return err
			}
			fmt.Fprintf(a.Stderr, "Created provisioner key %s in organization %s. It is shown only once. Run a provisioner with it:\n  "+
				"CODER_PROVISIONER_DAEMON_KEY=<key> coder provisioner start\n", args[0], o.Name)
			_, err = fmt.Fprintln(a.Stdout, key.Key)
			return err
		},
	}
}

// List returns the command provisioner keys list.
func List(a *command.Run) *command.Command {
	type row = codersdk.ProvisionerKey
	l := &command.Listing[row]{
		All: []command.Column[row]{
			{Name: "created at", Show: func(k row) string { return command.Date(k.CreatedAt) }},
			{Name: "name", Show: func(k row) string { return k.Name }},
			{Name: "tags", Show: func(k row) string { return command.TagText(k.Tags) }},
			{Name: "id", Show: func(k row) string { return k.ID.String() }},
			{Name: "expires at", Show: func(k row) string { return command.DateOf(k.ExpiresAt) }},
			{Name: "last used at", Show: func(k row) string { return command.DateOf(k.LastUsedAt) }},
			{Name: "replaced at", Show: func(k row) string { return command.DateOf(k.ReplacedAt) }},
		},
		NoMatch: "No provisioner keys found. Create one with 'coder provisioner keys create'.",
	}
	var ref string
	return &command.Command{
		Name: "list", Aliases: []string{"ls"}, Max: 0,
		Short:   "List the provisioner keys of an organization",
		Long:    "A rotated name is listed once for each of its keys, until the replaced keys expire.",
		Options: []*option.Option{command.Org(&ref), l.ColumnOption("created at,name,tags,expires at,last used at"), l.FormatOption()},
		Run: func(ctx context.Context, _ []string) error {
			c, o, err := a.ClientAndOrganization(ctx, ref)
			if err != nil {
				return err
			}
			all, err := c.ProvisionerKeys(ctx, o.ID.String())
			if err != nil {
				return err
			}
			return l.Write(a, all)
		},
	}
}

// Rotate returns the command provisioner keys rotate.
func Rotate(a *command.Run) *command.Command {
	var grace, expires time.Duration
	var ref string
	return &command.Command{
		Name: "rotate", Args: "<name>", Min: 1, Max: 1,
		Short: "Replace a provisioner key by a new one with the same name and tags",
		Long: "The replaced key remains valid for --grace, so that provisioners can switch to the new one. After " +
			"that, provisioners with the replaced key finish their builds and are disconnected. A grace period " +
			"of 0 revokes the replaced key immediately, and its builds are moved to other provisioners.",
		Examples: []command.Example{
			{Text: "Allow a day to distribute the new key", Line: "coder provisioner keys rotate lisbon --grace 24h"},
		},
		Options: []*option.Option{
			option.Duration(&grace, "grace", "Time for which the replaced key remains valid, such as 1h or 2d").Def("1h"),
			expiresOption(&expires), command.Org(&ref),
		},
		Run: func(ctx context.Context, args []string) error {
			var req codersdk.RotateProvisionerKeyRequest
			var err error
			if req.GraceSeconds, err = keySeconds("--grace", grace); err != nil {
				return err
			}
			if req.ExpiresInSeconds, err = keySeconds("--expires-in", expires); err != nil {
				return err
			}
			c, o, err := a.ClientAndOrganization(ctx, ref)
			if err != nil {
				return err
			}
			key, err := c.RotateProvisionerKey(ctx, o.ID.String(), args[0], req)
			if err != nil {
				return noKey(err, o, args[0])
			}
			until := "is revoked"
			if key.OldExpiresAt.After(a.Now()) {
				until = "remains valid until " + command.Date(key.OldExpiresAt)
			}
			fmt.Fprintf(a.Stderr, "Created a new key %s in organization %s; the replaced key %s. The new key is shown only once. Run "+
				"provisioners with it:\n  CODER_PROVISIONER_DAEMON_KEY=<key> coder provisioner start\n", args[0], o.Name, until)
			_, err = fmt.Fprintln(a.Stdout, key.Key)
			return err
		},
	}
}

func expiresOption(p *time.Duration) *option.Option {
	return option.Duration(p, "expires-in", "Lifetime of the key, such as 90d; 0 means until it is deleted, or for a rotation the lifetime of "+
		"the replaced key").Def("0s")
}

// keySeconds converts the value of a flag to whole seconds, at most ten years.
func keySeconds(flag string, d time.Duration) (int64, error) {
	switch {
	case d < 0 || d%time.Second != 0:
		return 0, command.Failure("%s %s is not a non-negative number of whole seconds", flag, d)
	case d > codersdk.MaxProvisionerKeySeconds*time.Second:
		return 0, command.Failure("%s %s exceeds the limit of ten years", flag, d)
	}
	return int64(d / time.Second), nil
}

// Delete returns the command provisioner keys delete.
func Delete(a *command.Run) *command.Command {
	var sure bool
	var ref string
	return &command.Command{
		Name: "delete", Aliases: []string{"rm"}, Args: "<name>", Min: 1, Max: 1,
		Short: "Delete a provisioner key",
		Long: "A name deletes all its keys, including replaced ones; an ID deletes one key. Provisioners that use " +
			"the key are disconnected, and their builds are moved to others.",
		Options: []*option.Option{command.Yes(&sure), command.Org(&ref)},
		Run: func(ctx context.Context, args []string) error {
			c, o, err := a.ClientAndOrganization(ctx, ref)
			if err != nil {
				return err
			}
			if err := a.Confirm("Delete provisioner key "+args[0]+"?", sure); err != nil {
				return err
			}
			if err := c.DeleteProvisionerKey(ctx, o.ID.String(), args[0]); err != nil {
				return noKey(err, o, args[0])
			}
			_, err = fmt.Fprintf(a.Stdout, "Deleted provisioner key %s.\n", args[0])
			return err
		},
	}
}

// noKey rewords a not-found error to name the key; other errors are returned
// unchanged.
func noKey(err error, o codersdk.Organization, name string) error {
	if !codersdk.Is(err, codersdk.CodeNotFound) {
		return err
	}
	return codersdk.Errorf(codersdk.CodeNotFound,
		"provisioner key %q not found in organization %s, or you cannot access it; 'coder provisioner keys list' shows the existing ones", name, o.Name)
}
