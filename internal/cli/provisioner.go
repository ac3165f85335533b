package cli

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
)

func (a *app) provisionerCommand() *command {
	return &command{
		name: "provisioner", aliases: []string{"provisioners"},
		short: "Run provisioners, and see those that there are and their jobs.",
		subs: []*command{
			a.provisionerStartCommand(), a.provisionerListCommand(),
			{name: "jobs", aliases: []string{"job"}, short: "See and cancel the jobs of provisioners.",
				subs: []*command{a.jobsListCommand(), a.jobsCancelCommand()}},
			{name: "keys", aliases: []string{"key"}, short: "Manage the keys that provisioners sign in with.",
				subs: []*command{a.keysCreateCommand(), a.keysListCommand(), a.keysDeleteCommand()}},
		},
	}
}

// provisionerdCommand is the older name of provisioner start.
func (a *app) provisionerdCommand() *command {
	return &command{name: "provisionerd", hidden: true, short: "Run a provisioner.", subs: []*command{a.provisionerStartCommand()}}
}

// daemonRow is a provisioner and the name of its organization.
type daemonRow struct {
	coder.ProvisionerDaemon
	Organization string `json:"organization_name"`
}

// jobOf is the current or previous job of a provisioner, or an empty one.
func jobOf(j *coder.ProvisionerDaemonJob) coder.ProvisionerDaemonJob {
	if j == nil {
		return coder.ProvisionerDaemonJob{}
	}
	return *j
}

func idText(id uuid.UUID) string {
	if id == uuid.Nil {
		return ""
	}
	return id.String()
}

func daemonColumns() []column[daemonRow] {
	all := []column[daemonRow]{
		{"id", func(d daemonRow) string { return d.ID.String() }},
		{"organization id", func(d daemonRow) string { return d.OrganizationID.String() }},
		{"created at", func(d daemonRow) string { return date(d.CreatedAt) }},
		{"last seen at", func(d daemonRow) string { return dateOf(d.LastSeenAt) }},
		{"name", func(d daemonRow) string { return d.Name }},
		{"version", func(d daemonRow) string { return d.Version }},
		{"api version", func(d daemonRow) string { return d.APIVersion }},
		{"tags", func(d daemonRow) string { return tagText(d.Tags) }},
		{"key name", func(d daemonRow) string { return d.KeyName }},
		{"status", func(d daemonRow) string { return string(d.Status) }},
		{"slots", func(d daemonRow) string { return fmt.Sprintf("%d/%d", d.BusySlots, d.Slots) }},
		{"tools", func(d daemonRow) string { return strings.Join(d.Tools, " ") }},
	}
	for _, which := range []struct {
		name string
		job  func(daemonRow) coder.ProvisionerDaemonJob
	}{
		{"current", func(d daemonRow) coder.ProvisionerDaemonJob { return jobOf(d.CurrentJob) }},
		{"previous", func(d daemonRow) coder.ProvisionerDaemonJob { return jobOf(d.PreviousJob) }},
	} {
		all = append(all,
			column[daemonRow]{which.name + " job id", func(d daemonRow) string { return idText(which.job(d).ID) }},
			column[daemonRow]{which.name + " job status", func(d daemonRow) string { return string(which.job(d).Status) }},
			column[daemonRow]{which.name + " job template name", func(d daemonRow) string { return which.job(d).TemplateName }},
			column[daemonRow]{which.name + " job template icon", func(d daemonRow) string { return which.job(d).TemplateIcon }},
			column[daemonRow]{which.name + " job template display name", func(d daemonRow) string { return which.job(d).TemplateDisplayName }})
	}
	return append(all, column[daemonRow]{"organization", func(d daemonRow) string { return d.Organization }})
}

func (a *app) provisionerListCommand() *command {
	l := &listing[daemonRow]{all: daemonColumns(), noMatch: "No provisioners. Run one with 'coder provisioner start'."}
	var limit int
	var offline bool
	var status []string
	var age time.Duration
	var ref string
	return &command{
		name: "list", aliases: []string{"ls"}, max: 0,
		short: "List the provisioners of an organization.",
		options: []*option.Option{
			option.Int(&limit, "limit", "How many to list at most.").Short("l").Env("CODER_PROVISIONER_LIST_LIMIT").Def("50"),
			option.Bool(&offline, "show-offline", "Those that are not there as well.").Short("f").Env("CODER_PROVISIONER_SHOW_OFFLINE"),
			option.Words(&status, "status", "Only those in this state.", "offline", "idle", "busy").Short("s").Env("CODER_PROVISIONER_LIST_STATUS"),
			option.Duration(&age, "max-age", "Only those that were seen within this time.").Short("m").Env("CODER_PROVISIONER_LIST_MAX_AGE"),
			org(&ref), l.columnOption("created at,last seen at,key name,name,version,status,tags"), l.formatOption(),
		},
		run: func(ctx context.Context, _ []string) error {
			c, o, err := a.clientAndOrganization(ctx, ref)
			if err != nil {
				return err
			}
			q := url.Values{"limit": {strconv.Itoa(limit)}}
			if len(status) > 0 {
				q.Set("status", strings.Join(status, ","))
			}
			if age > 0 {
				q.Set("max_age", age.String())
			}
			if offline {
				q.Set("offline", "true")
			}
			all, err := c.ProvisionerDaemons(ctx, o.ID.String(), q)
			if err != nil {
				return err
			}
			var rows []daemonRow
			for _, d := range all {
				if d.Status == coder.ProvisionerDaemonStatusOffline && !offline && !option.Contains(status, "offline") {
					continue
				}
				if age > 0 && (d.LastSeenAt == nil || a.now().Sub(*d.LastSeenAt) > age) {
					continue
				}
				rows = append(rows, daemonRow{d, o.Name})
			}
			return l.write(a, rows)
		},
	}
}

func (a *app) keysCreateCommand() *command {
	var tags []string
	var ref string
	return &command{
		name: "create", args: "<name>", min: 1, max: 1,
		short: "Make a key and print it, once.",
		long:  "Provisioners that sign in with it serve the key's organization and have the key's tags.",
		options: []*option.Option{
			option.List(&tags, "tag", "Tag of those provisioners, as key=value. May be repeated.").Short("t").Env("CODER_PROVISIONERD_TAGS"),
			org(&ref),
		},
		run: func(ctx context.Context, args []string) error {
			set, err := option.Pairs("--tag", tags)
			if err != nil {
				return failure("%s", err)
			}
			if err := coder.CheckTags("tag", set); err != nil {
				return err
			}
			c, o, err := a.clientAndOrganization(ctx, ref)
			if err != nil {
				return err
			}
			key, err := c.CreateProvisionerKey(ctx, o.ID.String(), coder.CreateProvisionerKeyRequest{Name: args[0], Tags: set})
			if err != nil {
				return err
			}
			fmt.Fprintf(a.stderr, "Made the key %s of organization %s. It is shown this once; run a provisioner with it so:\n  CODER_PROVISIONER_DAEMON_KEY=<key> coder provisioner start\n", args[0], o.Name)
			_, err = fmt.Fprintln(a.stdout, key.Key)
			return err
		},
	}
}

func (a *app) keysListCommand() *command {
	type row = coder.ProvisionerKey
	l := &listing[row]{
		all: []column[row]{
			{"created at", func(k row) string { return date(k.CreatedAt) }},
			{"name", func(k row) string { return k.Name }},
			{"tags", func(k row) string { return tagText(k.Tags) }},
		},
		noMatch: "No keys. Make one with 'coder provisioner keys create'.",
	}
	var ref string
	return &command{
		name: "list", aliases: []string{"ls"}, max: 0,
		short:   "List the keys of an organization; never their secrets.",
		options: []*option.Option{org(&ref), l.columnOption("created at,name,tags"), l.formatOption()},
		run: func(ctx context.Context, _ []string) error {
			c, o, err := a.clientAndOrganization(ctx, ref)
			if err != nil {
				return err
			}
			all, err := c.ProvisionerKeys(ctx, o.ID.String())
			if err != nil {
				return err
			}
			return l.write(a, all)
		},
	}
}

func (a *app) keysDeleteCommand() *command {
	var sure bool
	var ref string
	return &command{
		name: "delete", aliases: []string{"rm"}, args: "<name>", min: 1, max: 1,
		short:   "Delete a key; provisioners cannot sign in with it any more.",
		options: []*option.Option{yes(&sure), org(&ref)},
		run: func(ctx context.Context, args []string) error {
			c, o, err := a.clientAndOrganization(ctx, ref)
			if err != nil {
				return err
			}
			if err := a.confirm("Delete the key "+args[0]+"?", sure); err != nil {
				return err
			}
			if err := c.DeleteProvisionerKey(ctx, o.ID.String(), args[0]); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.stdout, "Deleted the key %s.\n", args[0])
			return err
		},
	}
}
