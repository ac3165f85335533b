// Package provisioner is the family of commands about provisioners: the daemon
// itself, the list of daemons, their keys, and the jobs in the queue.
//
// What contradicts itself among the flags of a daemon is refused before the
// server is dialled.
package provisioner

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
)

// Commands are the commands of this family.
func Commands(a *app.Run) []*app.Command {
	return []*app.Command{provisionerCommand(a), provisionerdCommand(a)}
}

func provisionerCommand(a *app.Run) *app.Command {
	return &app.Command{
		Name: "provisioner", Aliases: []string{"provisioners"},
		Short: "Run provisioners, and see those that there are and their jobs.",
		Subs: []*app.Command{
			provisionerStartCommand(a), provisionerListCommand(a), queueCommand(a),
			{Name: "jobs", Aliases: []string{"job"}, Short: "See, explain and cancel the jobs of provisioners.",
				Subs: []*app.Command{jobsListCommand(a), jobsExplainCommand(a), jobsCancelCommand(a)}},
			{Name: "keys", Aliases: []string{"key"}, Short: "Manage the keys that provisioners sign in with.",
				Subs: []*app.Command{keysCreateCommand(a), keysListCommand(a), keysRotateCommand(a), keysDeleteCommand(a)}},
		},
	}
}

// provisionerdCommand is the older name of provisioner start.
func provisionerdCommand(a *app.Run) *app.Command {
	return &app.Command{Name: "provisionerd", Hidden: true, Short: "Run a provisioner.", Subs: []*app.Command{provisionerStartCommand(a)}}
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

func daemonColumns() []app.Column[daemonRow] {
	all := []app.Column[daemonRow]{
		{Name: "id", Show: func(d daemonRow) string { return d.ID.String() }},
		{Name: "organization id", Show: func(d daemonRow) string { return d.OrganizationID.String() }},
		{Name: "created at", Show: func(d daemonRow) string { return app.Date(d.CreatedAt) }},
		{Name: "last seen at", Show: func(d daemonRow) string { return app.DateOf(d.LastSeenAt) }},
		{Name: "name", Show: func(d daemonRow) string { return d.Name }},
		{Name: "version", Show: func(d daemonRow) string { return d.Version }},
		{Name: "api version", Show: func(d daemonRow) string { return d.APIVersion }},
		{Name: "tags", Show: func(d daemonRow) string { return app.TagText(d.Tags) }},
		{Name: "key name", Show: func(d daemonRow) string { return d.KeyName }},
		{Name: "status", Show: func(d daemonRow) string { return string(d.Status) }},
		{Name: "slots", Show: func(d daemonRow) string { return fmt.Sprintf("%d/%d", d.BusySlots, d.Slots) }},
		{Name: "tools", Show: func(d daemonRow) string { return strings.Join(d.Tools, " ") }},
	}
	for _, which := range []struct {
		name string
		job  func(daemonRow) coder.ProvisionerDaemonJob
	}{
		{"current", func(d daemonRow) coder.ProvisionerDaemonJob { return jobOf(d.CurrentJob) }},
		{"previous", func(d daemonRow) coder.ProvisionerDaemonJob { return jobOf(d.PreviousJob) }},
	} {
		all = append(all,
			app.Column[daemonRow]{Name: which.name + " job id", Show: func(d daemonRow) string { return idText(which.job(d).ID) }},
			app.Column[daemonRow]{Name: which.name + " job status", Show: func(d daemonRow) string { return string(which.job(d).Status) }},
			app.Column[daemonRow]{Name: which.name + " job template name", Show: func(d daemonRow) string { return which.job(d).TemplateName }},
			app.Column[daemonRow]{Name: which.name + " job template icon", Show: func(d daemonRow) string { return which.job(d).TemplateIcon }},
			app.Column[daemonRow]{Name: which.name + " job template display name", Show: func(d daemonRow) string { return which.job(d).TemplateDisplayName }})
	}
	return append(all, app.Column[daemonRow]{Name: "organization", Show: func(d daemonRow) string { return d.Organization }})
}

// warn tells of what is wrong with the versions of provisioners that are there,
// by the codes of the health page, and when all is whether there are any. (PRV-28)
func warn(a *app.Run, rows []daemonRow, all bool) {
	var order []coder.HealthMessage
	who := map[coder.HealthMessage][]string{}
	there := false
	for _, d := range rows {
		if d.Status == coder.ProvisionerDaemonStatusOffline {
			continue
		}
		there = true
		for _, w := range d.Warnings {
			if who[w] == nil {
				order = append(order, w)
			}
			who[w] = append(who[w], d.Name)
		}
	}
	if all && !there {
		order = append(order, coder.NoProvisioners())
	}
	for _, w := range order {
		names := who[w]
		if more := len(names) - shownDaemons; more > 0 {
			names = append(names[:shownDaemons:shownDaemons], fmt.Sprintf("and %d more", more))
		}
		if len(names) > 0 {
			w.Message = strings.Join(names, ", ") + ": " + w.Message
		}
		a.Warn(string(w.Code) + " " + w.Message)
	}
}

// shownDaemons bounds how many provisioners one warning names.
const shownDaemons = 3

func provisionerListCommand(a *app.Run) *app.Command {
	l := &app.Listing[daemonRow]{All: daemonColumns(), NoMatch: "No provisioners."}
	var limit int
	var offline bool
	var status []string
	var age time.Duration
	var ref string
	return &app.Command{
		Name: "list", Aliases: []string{"ls"}, Max: 0,
		Short: "List the provisioners of an organization.",
		Long: "It warns when none is there (EPD01), and of those that are of another version than the server (EPD02) " +
			"or speak an older protocol (EPD03).",
		Options: []*option.Option{
			option.Int(&limit, "limit", "How many to list at most.").Short("l").Env("CODER_PROVISIONER_LIST_LIMIT").Def("50"),
			option.Bool(&offline, "show-offline", "Those that are not there as well.").Short("f").Env("CODER_PROVISIONER_SHOW_OFFLINE"),
			option.Words(&status, "status", "Only those in this state.", "offline", "idle", "busy").Short("s").Env("CODER_PROVISIONER_LIST_STATUS"),
			option.Duration(&age, "max-age", "Only those that were seen within this time.").Short("m").Env("CODER_PROVISIONER_LIST_MAX_AGE"),
			app.Org(&ref), l.ColumnOption("created at,last seen at,key name,name,version,status,tags"), l.FormatOption(),
		},
		Run: func(ctx context.Context, _ []string) error {
			c, o, err := a.ClientAndOrganization(ctx, ref)
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
				if age > 0 && (d.LastSeenAt == nil || a.Now().Sub(*d.LastSeenAt) > age) {
					continue
				}
				rows = append(rows, daemonRow{d, o.Name})
			}
			if err := l.Write(a, rows); err != nil {
				return err
			}
			warn(a, rows, len(status) == 0 && age == 0)
			return nil
		},
	}
}
