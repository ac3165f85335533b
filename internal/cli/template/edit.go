package template

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/build"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

// edit is one setting of templates edit: its option, and its field in the
// request. The request contains only the fields that were set.
type edit struct {
	option *option.Option
	fields func() map[string]any
}

// templateEdits holds the editable settings of a template.
type templateEdits struct {
	edits               []edit
	autostart, autostop []string
	weeks               int32
	stopDays, stopWeeks *option.Option
}

func (e *templateEdits) text(field, flag, desc string) {
	var v string
	e.add(option.String(&v, flag, desc), func() map[string]any { return map[string]any{field: v} })
}

func (e *templateEdits) toggle(field, flag, desc, initial string) {
	var v bool
	e.add(option.Bool(&v, flag, desc).Def(initial), func() map[string]any { return map[string]any{field: v} })
}

func (e *templateEdits) limit(field, flag, desc, initial string) {
	var v time.Duration
	o := option.Duration(&v, flag, desc)
	if initial != "" {
		o.Def(initial)
	}
	e.add(o, func() map[string]any { return map[string]any{field: v.Milliseconds()} })
}

func (e *templateEdits) add(o *option.Option, fields func() map[string]any) {
	e.edits = append(e.edits, edit{o, fields})
}

func newTemplateEdits() *templateEdits {
	e := &templateEdits{}
	week := []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}
	e.text("name", "name", "New name")
	e.text("display_name", "display-name", "New display name")
	e.text("description", "description", "New description")
	e.text("deprecation_message", "deprecated", "Deprecation message; \"\" removes the deprecation")
	e.text("icon", "icon", "New icon, as a path or URL")
	e.limit("default_ttl_ms", "default-ttl", "Default autostop after a start", "")
	e.limit("activity_bump_ms", "activity-bump", "Time by which activity extends the autostop", "")
	e.add(option.Words(&e.autostart, "autostart-requirement-weekdays", "Days on which autostart is allowed", append(slices.Clone(week), "all")...),
		func() map[string]any {
			days := e.autostart
			if option.Contains(days, "all") {
				days = week
			}
			return map[string]any{"autostart_requirement": codersdk.TemplateAutostartRequirement{DaysOfWeek: days}}
		})
	e.stopDays = option.Words(&e.autostop, "autostop-requirement-weekdays", "Days on which workspaces must stop", append(slices.Clone(week), "none")...)
	e.stopWeeks = option.Int(&e.weeks, "autostop-requirement-weeks", "Number of weeks between the required stops")
	e.add(e.stopDays, nil)
	e.add(e.stopWeeks, nil)
	e.limit("failure_ttl_ms", "failure-ttl", "Time after which workspaces with a failed start are stopped; 0 disables", "0h")
	e.limit("time_til_dormant_ms", "dormancy-threshold", "Time without use after which workspaces become dormant; 0 disables", "0h")
	e.limit("time_til_dormant_autodelete_ms", "dormancy-auto-deletion", "Time after which dormant workspaces are deleted; 0 disables", "0h")
	var builds int32
	e.add(option.Int(&builds, "max-concurrent-builds", "Maximum number of pending and running builds of the template's workspaces; further builds are held. "+
		"0 means unlimited").Def("0"),
		func() map[string]any { return map[string]any{"max_concurrent_builds": builds} })
	var prebuilds int32
	e.add(option.Int(&prebuilds, "prebuild-budget", "Largest number of prebuilt workspaces by demand; 0 keeps what presets define").Def("0"),
		func() map[string]any { return map[string]any{"prebuild_budget": prebuilds} })
	e.toggle("allow_user_cancel_workspace_jobs", "allow-user-cancel-workspace-jobs", "Allow users to cancel builds of their workspaces", "true")
	e.toggle("allow_user_autostart", "allow-user-autostart", "Allow users to configure autostart", "true")
	e.toggle("allow_user_autostop", "allow-user-autostop", "Allow users to configure autostop", "true")
	e.toggle("require_active_version", "require-active-version", "Require workspaces to start on the active version", "false")
	e.toggle("disable_user_secrets", "disable-user-secrets", "Keep user secrets from the template's workspaces", "false")
	e.toggle("disable_everyone_group_access", "private", "Restrict access to the template's access list", "false")
	return e
}

func templatesEditCommand(a *command.Run) *command.Command {
	e := newTemplateEdits()
	var sure bool
	var ref string
	var options []*option.Option
	for _, x := range e.edits {
		options = append(options, x.option)
	}
	return &command.Command{
		Name: "edit", Args: "<template>", Min: 1, Max: 1,
		Short:    "Edit the settings of a template",
		Examples: []command.Example{{Text: "Stop workspaces eight hours after their start", Line: "coder templates edit my-template --default-ttl 8h"}},
		Options:  append(options, command.Yes(&sure), command.Org(&ref)),
		Run: func(ctx context.Context, args []string) error {
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			t, err := build.Template(ctx, a, c, ref, args[0])
			if err != nil {
				return err
			}
			body, err := e.request(t)
			if err != nil {
				return err
			}
			if err := a.Confirm("Change the settings of "+t.Name+"?", sure); err != nil {
				return err
			}
			if err := command.Call(ctx, c, "PATCH", "/templates/"+t.ID.String(), body, nil); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Stdout, "Changed template %s.\n", t.Name)
			return err
		},
	}
}

// request returns the fields that were set; all others remain unchanged.
func (e *templateEdits) request(t codersdk.Template) (map[string]any, error) {
	body := map[string]any{}
	for _, x := range e.edits {
		if x.option.Given() && x.fields != nil {
			maps.Copy(body, x.fields())
		}
	}
	if e.stopDays.Given() || e.stopWeeks.Given() {
		r := t.AutostopRequirement
		if e.stopDays.Given() {
			r.DaysOfWeek = slices.DeleteFunc(slices.Clone(e.autostop), func(d string) bool { return d == "none" })
		}
		if e.stopWeeks.Given() {
			r.Weeks = e.weeks
		}
		body["autostop_requirement"] = r
	}
	if len(body) == 0 {
		return nil, command.Failure("nothing to change: use at least one flag")
	}
	return body, nil
}
