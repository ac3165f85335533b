package provisioner

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
)

func keysCreateCommand(a *app.Run) *app.Command {
	var tags []string
	var expires time.Duration
	var ref string
	return &app.Command{
		Name: "create", Args: "<name>", Min: 1, Max: 1,
		Short: "Make a key and print it, once.",
		Long:  "Provisioners that sign in with it serve the key's organization and have the key's tags.",
		Options: []*option.Option{
			option.List(&tags, "tag", "Tag of those provisioners, as key=value. May be repeated.").Short("t").Env("CODER_PROVISIONERD_TAGS"),
			expiresOption(&expires),
			app.Org(&ref),
		},
		Run: func(ctx context.Context, args []string) error {
			set, err := option.Pairs("--tag", tags)
			if err != nil {
				return app.Failure("%s", err)
			}
			if err := coder.CheckTags("tag", set); err != nil {
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
			key, err := c.CreateProvisionerKey(ctx, o.ID.String(), coder.CreateProvisionerKeyRequest{Name: args[0], Tags: set, ExpiresInSeconds: seconds})
			if err != nil {
				return err
			}
			fmt.Fprintf(a.Stderr, "Made the key %s of organization %s. It is shown this once; run a provisioner with it so:\n  CODER_PROVISIONER_DAEMON_KEY=<key> coder provisioner start\n", args[0], o.Name)
			_, err = fmt.Fprintln(a.Stdout, key.Key)
			return err
		},
	}
}

func keysListCommand(a *app.Run) *app.Command {
	type row = coder.ProvisionerKey
	l := &app.Listing[row]{
		All: []app.Column[row]{
			{Name: "created at", Show: func(k row) string { return app.Date(k.CreatedAt) }},
			{Name: "name", Show: func(k row) string { return k.Name }},
			{Name: "tags", Show: func(k row) string { return app.TagText(k.Tags) }},
			{Name: "id", Show: func(k row) string { return k.ID.String() }},
			{Name: "expires at", Show: func(k row) string { return app.DateOf(k.ExpiresAt) }},
			{Name: "last used at", Show: func(k row) string { return app.DateOf(k.LastUsedAt) }},
			{Name: "replaced at", Show: func(k row) string { return app.DateOf(k.ReplacedAt) }},
		},
		NoMatch: "No keys. Make one with 'coder provisioner keys create'.",
	}
	var ref string
	return &app.Command{
		Name: "list", Aliases: []string{"ls"}, Max: 0,
		Short:   "List the keys of an organization; never their secrets.",
		Long:    "A name that was rotated is listed once for each of its keys, until the replaced ones expire.",
		Options: []*option.Option{app.Org(&ref), l.ColumnOption("created at,name,tags,expires at,last used at"), l.FormatOption()},
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

func keysRotateCommand(a *app.Run) *app.Command {
	var grace, expires time.Duration
	var ref string
	return &app.Command{
		Name: "rotate", Args: "<name>", Min: 1, Max: 1,
		Short: "Replace a key by a new one of the same name and tags, and print that, once.",
		Long: "The replaced key stays good for --grace, so that provisioners can be given the new one in the meantime. " +
			"When it ends, those that still hold it finish what they run and are sent away; a grace of 0 ends it at once, " +
			"and hands what they build to others.",
		Examples: []app.Example{
			{Text: "Give a day to hand out the new key", Line: "coder provisioner keys rotate lisbon --grace 24h"},
		},
		Options: []*option.Option{
			option.Duration(&grace, "grace", "How long the replaced key stays good, such as 1h or 2d.").Def("1h"),
			expiresOption(&expires), app.Org(&ref),
		},
		Run: func(ctx context.Context, args []string) error {
			var req coder.RotateProvisionerKeyRequest
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
			until := "is not good any more"
			if key.OldExpiresAt.After(a.Now()) {
				until = "stays good until " + app.Date(key.OldExpiresAt)
			}
			fmt.Fprintf(a.Stderr, "Made a new key %s of organization %s; the one before it %s. It is shown this once; run provisioners with it so:\n  CODER_PROVISIONER_DAEMON_KEY=<key> coder provisioner start\n", args[0], o.Name, until)
			_, err = fmt.Fprintln(a.Stdout, key.Key)
			return err
		},
	}
}

func expiresOption(p *time.Duration) *option.Option {
	return option.Duration(p, "expires-in", "How long the key is good, such as 90d; 0 is until it is deleted, or for a rotation as long as the key before it.").Def("0s")
}

// keySeconds is a time of a key in whole seconds.
func keySeconds(flag string, d time.Duration) (int64, error) {
	switch {
	case d < 0 || d%time.Second != 0:
		return 0, app.Failure("%s %s is not a number of whole seconds from 0", flag, d)
	case d > coder.MaxProvisionerKeySeconds*time.Second:
		return 0, app.Failure("%s %s is longer than ten years", flag, d)
	}
	return int64(d / time.Second), nil
}

func keysDeleteCommand(a *app.Run) *app.Command {
	var sure bool
	var ref string
	return &app.Command{
		Name: "delete", Aliases: []string{"rm"}, Args: "<name>", Min: 1, Max: 1,
		Short: "Delete a key; provisioners cannot sign in with it any more.",
		Long: "A name deletes every key that it has, the replaced ones too; the id of a key that one alone. " +
			"Provisioners that hold it are sent away, and what they build is handed to others.",
		Options: []*option.Option{app.Yes(&sure), app.Org(&ref)},
		Run: func(ctx context.Context, args []string) error {
			c, o, err := a.ClientAndOrganization(ctx, ref)
			if err != nil {
				return err
			}
			if err := a.Confirm("Delete the key "+args[0]+"?", sure); err != nil {
				return err
			}
			if err := c.DeleteProvisionerKey(ctx, o.ID.String(), args[0]); err != nil {
				return noKey(err, o, args[0])
			}
			_, err = fmt.Fprintf(a.Stdout, "Deleted the key %s.\n", args[0])
			return err
		},
	}
}

// noKey says which key is not there; other failures stay as they are.
func noKey(err error, o coder.Organization, name string) error {
	if !coder.Is(err, coder.CodeNotFound) {
		return err
	}
	return coder.Errorf(coder.CodeNotFound, "organization %s has no provisioner key %q, or you may not see it; 'coder provisioner keys list' shows those that are there", o.Name, name)
}
