package template

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
	"github.com/seed-2a7f8fe7/coder/internal/cli/build"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
)

// edit is one setting of templates edit: its option and its field in the
// request, which holds only what was set.
type edit struct {
	option *option.Option
	fields func() map[string]any
}

// templateEdits are the settings of a template that can be changed.
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
	e.text("name", "name", "New name.")
	e.text("display_name", "display-name", "Name to show.")
	e.text("description", "description", "What the template is for.")
	e.text("deprecation_message", "deprecated", "Mark the template deprecated with this message; \"\" takes the mark away.")
	e.text("icon", "icon", "Path or URL of the icon.")
	e.limit("default_ttl_ms", "default-ttl", "How long a started workspace runs by default.", "")
	e.limit("activity_bump_ms", "activity-bump", "By how much activity moves the stop of a workspace.", "")
	e.add(option.Words(&e.autostart, "autostart-requirement-weekdays", "Days on which workspaces may start by themselves.", append(slices.Clone(week), "all")...),
		func() map[string]any {
			days := e.autostart
			if option.Contains(days, "all") {
				days = week
			}
			return map[string]any{"autostart_requirement": coder.TemplateAutostartRequirement{DaysOfWeek: days}}
		})
	e.stopDays = option.Words(&e.autostop, "autostop-requirement-weekdays", "Days on which workspaces must stop once.", append(slices.Clone(week), "none")...)
	e.stopWeeks = option.Int(&e.weeks, "autostop-requirement-weeks", "Every how many weeks workspaces must stop on those days.")
	e.add(e.stopDays, nil)
	e.add(e.stopWeeks, nil)
	e.limit("failure_ttl_ms", "failure-ttl", "Stop workspaces whose start failed after this time; 0 does not.", "0h")
	e.limit("time_til_dormant_ms", "dormancy-threshold", "Make workspaces dormant that are not used for this time; 0 does not.", "0h")
	e.limit("time_til_dormant_autodelete_ms", "dormancy-auto-deletion", "Delete workspaces that are dormant for this time; 0 does not.", "0h")
	var builds int32
	e.add(option.Int(&builds, "max-concurrent-builds", "How many builds of its workspaces may wait or run at once; further ones are held back until one ends; 0 is without limit.").Def("0"),
		func() map[string]any { return map[string]any{"max_concurrent_builds": builds} })
	e.toggle("allow_user_cancel_workspace_jobs", "allow-user-cancel-workspace-jobs", "Let owners cancel builds of their workspaces.", "true")
	e.toggle("allow_user_autostart", "allow-user-autostart", "Let owners choose when their workspaces start by themselves.", "true")
	e.toggle("allow_user_autostop", "allow-user-autostop", "Let owners choose when their workspaces stop by themselves.", "true")
	e.toggle("require_active_version", "require-active-version", "Let workspaces be started on the active version only.", "false")
	e.toggle("disable_everyone_group_access", "private", "Let only those use the template who are on its access list.", "false")
	return e
}

func templatesEditCommand(a *app.Run) *app.Command {
	e := newTemplateEdits()
	var sure bool
	var ref string
	var options []*option.Option
	for _, x := range e.edits {
		options = append(options, x.option)
	}
	return &app.Command{
		Name: "edit", Args: "<template>", Min: 1, Max: 1,
		Short:    "Change the settings of a template; what is not given stays as it is.",
		Examples: []app.Example{{Text: "Let workspaces run for eight hours", Line: "coder templates edit my-template --default-ttl 8h"}},
		Options:  append(options, app.Yes(&sure), app.Org(&ref)),
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
			if err := app.Call(ctx, c, "PATCH", "/templates/"+t.ID.String(), body, nil); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Stdout, "Changed template %s.\n", t.Name)
			return err
		},
	}
}

// request holds the given settings; what is absent stays as it is.
func (e *templateEdits) request(t coder.Template) (map[string]any, error) {
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
		return nil, app.Failure("nothing to change: give at least one flag")
	}
	return body, nil
}
