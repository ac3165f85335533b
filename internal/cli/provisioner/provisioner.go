// Package provisioner is the command group for provisioners: the daemon itself,
// the list of daemons, their keys, and the jobs in the queue.
//
// Contradicting flags of a daemon are refused before the server is contacted.
package provisioner

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/cli/provisioner/key"
	"github.com/seed-2a7f8fe7/coder/internal/option"
	"github.com/seed-2a7f8fe7/coder/internal/rule/provisionerhealth"
)

// Commands returns the commands of this package.
func Commands(a *command.Run) []*command.Command {
	return []*command.Command{provisionerCommand(a), provisionerdCommand(a)}
}

func provisionerCommand(a *command.Run) *command.Command {
	return &command.Command{
		Name: "provisioner", Aliases: []string{"provisioners"},
		Short: "Run and manage provisioners and their jobs",
		Subs: []*command.Command{
			provisionerStartCommand(a), provisionerListCommand(a), queueCommand(a),
			{Name: "jobs", Aliases: []string{"job"}, Short: "List, explain and cancel provisioner jobs",
				Subs: []*command.Command{jobsListCommand(a), jobsExplainCommand(a), jobsCancelCommand(a)}},
			{Name: "keys", Aliases: []string{"key"}, Short: "Manage provisioner keys",
				Subs: []*command.Command{key.Create(a), key.List(a), key.Rotate(a), key.Delete(a)}},
		},
	}
}

// provisionerdCommand returns the old name of provisioner start.
func provisionerdCommand(a *command.Run) *command.Command {
	return &command.Command{Name: "provisionerd", Hidden: true, Short: "Run provisioners", Subs: []*command.Command{provisionerStartCommand(a)}}
}

// daemonRow is a provisioner with the name of its organization.
type daemonRow struct {
	codersdk.ProvisionerDaemon
	Organization string `json:"organization_name"`
}

// jobOf returns the current or previous job of a provisioner, or the zero
// value.
func jobOf(j *codersdk.ProvisionerDaemonJob) codersdk.ProvisionerDaemonJob {
	if j == nil {
		return codersdk.ProvisionerDaemonJob{}
	}
	return *j
}

func idText(id uuid.UUID) string {
	if id == uuid.Nil {
		return ""
	}
	return id.String()
}

func daemonColumns() []command.Column[daemonRow] {
	all := []command.Column[daemonRow]{
		{Name: "id", Show: func(d daemonRow) string { return d.ID.String() }},
		{Name: "organization id", Show: func(d daemonRow) string { return d.OrganizationID.String() }},
		{Name: "created at", Show: func(d daemonRow) string { return command.Date(d.CreatedAt) }},
		{Name: "last seen at", Show: func(d daemonRow) string { return command.DateOf(d.LastSeenAt) }},
		{Name: "name", Show: func(d daemonRow) string { return d.Name }},
		{Name: "version", Show: func(d daemonRow) string { return d.Version }},
		{Name: "api version", Show: func(d daemonRow) string { return d.APIVersion }},
		{Name: "tags", Show: func(d daemonRow) string { return command.TagText(d.Tags) }},
		{Name: "key name", Show: func(d daemonRow) string { return d.KeyName }},
		{Name: "status", Show: func(d daemonRow) string { return string(d.Status) }},
		{Name: "slots", Show: func(d daemonRow) string { return fmt.Sprintf("%d/%d", d.BusySlots, d.Slots) }},
		{Name: "tools", Show: func(d daemonRow) string { return strings.Join(d.Tools, " ") }},
	}
	for _, which := range []struct {
		name string
		job  func(daemonRow) codersdk.ProvisionerDaemonJob
	}{
		{"current", func(d daemonRow) codersdk.ProvisionerDaemonJob { return jobOf(d.CurrentJob) }},
		{"previous", func(d daemonRow) codersdk.ProvisionerDaemonJob { return jobOf(d.PreviousJob) }},
	} {
		all = append(all,
			command.Column[daemonRow]{Name: which.name + " job id", Show: func(d daemonRow) string { return idText(which.job(d).ID) }},
			command.Column[daemonRow]{Name: which.name + " job status", Show: func(d daemonRow) string { return string(which.job(d).Status) }},
			command.Column[daemonRow]{Name: which.name + " job template name", Show: func(d daemonRow) string { return which.job(d).TemplateName }},
			command.Column[daemonRow]{Name: which.name + " job template icon", Show: func(d daemonRow) string { return which.job(d).TemplateIcon }},
			command.Column[daemonRow]{Name: which.name + " job template display name", Show: func(d daemonRow) string { return which.job(d).TemplateDisplayName }})
	}
	return append(all, command.Column[daemonRow]{Name: "organization", Show: func(d daemonRow) string { return d.Organization }})
}

// warn prints warnings about the versions of connected provisioners, with the
// codes of the health page. If all is true, it also warns when no provisioner
// is connected. (PRV-28)
func warn(a *command.Run, rows []daemonRow, all bool) {
	var order []codersdk.HealthMessage
	who := map[codersdk.HealthMessage][]string{}
	there := false
	for _, d := range rows {
		if d.Status == codersdk.ProvisionerDaemonStatusOffline {
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
		order = append(order, provisionerhealth.Missing())
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

// shownDaemons bounds the provisioners that one warning names.
const shownDaemons = 3

func provisionerListCommand(a *command.Run) *command.Command {
	l := &command.Listing[daemonRow]{All: daemonColumns(), NoMatch: "No provisioners found."}
	var limit int
	var offline bool
	var status []string
	var age time.Duration
	var ref string
	return &command.Command{
		Name: "list", Aliases: []string{"ls"}, Max: 0,
		Short: "List the provisioners of an organization",
		Long: "Warns when no provisioner is connected (EPD01), when a provisioner has another version than the " +
			"server (EPD02), and when it uses a deprecated protocol version (EPD03).",
		Options: []*option.Option{
			option.Int(&limit, "limit", "Maximum number of provisioners to list").Short("l").Env("CODER_PROVISIONER_LIST_LIMIT").Def("50"),
			option.Bool(&offline, "show-offline", "Include offline provisioners").Short("f").Env("CODER_PROVISIONER_SHOW_OFFLINE"),
			option.Words(&status, "status", "Status to filter by", "offline", "idle", "busy").Short("s").Env("CODER_PROVISIONER_LIST_STATUS"),
			option.Duration(&age, "max-age", "Maximum time since the last contact").Short("m").Env("CODER_PROVISIONER_LIST_MAX_AGE"),
			command.Org(&ref), l.ColumnOption("created at,last seen at,key name,name,version,status,tags"), l.FormatOption(),
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
				if d.Status == codersdk.ProvisionerDaemonStatusOffline && !offline && !option.Contains(status, "offline") {
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
