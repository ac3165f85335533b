package graph

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/graph/attribute"
)

func (g *assembly) addParameters(done *provisioner.GraphComplete) error {
	names := map[string]string{}
	for _, i := range g.of("data", "coder_parameter") {
		a := attribute.Parameter{Type: "string"}
		if err := i.decode(&a); err != nil {
			return err
		}
		if other, ok := names[a.Name]; ok {
			return fmt.Errorf("%s and %s have the same name %q; parameter names must be unique", other, i.address, a.Name)
		}
		names[a.Name] = i.address
		done.Parameters = append(done.Parameters, parameter(a))
	}
	slices.SortStableFunc(done.Parameters, func(a, b *provisioner.RichParameter) int {
		if a.GetOrder() != b.GetOrder() {
			return int(a.GetOrder()) - int(b.GetOrder())
		}
		return strings.Compare(a.GetName(), b.GetName())
	})
	return nil
}

func parameter(a attribute.Parameter) *provisioner.RichParameter {
	p := &provisioner.RichParameter{
		Name: a.Name, DisplayName: a.DisplayName, Description: a.Description, Type: a.Type, Mutable: a.Mutable,
		Icon: a.Icon, Required: !a.Optional, Order: a.Order, Ephemeral: a.Ephemeral, FormType: formType(a.FormType),
	}
	if a.Default != nil {
		p.DefaultValue = *a.Default
	}
	for _, o := range a.Options {
		p.Options = append(p.Options, &provisioner.RichParameterOption{Name: o.Name, Description: o.Description, Value: o.Value, Icon: o.Icon})
	}
	for _, v := range a.Validation {
		p.ValidationRegex, p.ValidationError, p.ValidationMonotonic = v.Regex, v.Error, v.Monotonic
		if !v.MinDisabled {
			p.ValidationMin = v.Min
		}
		if !v.MaxDisabled {
			p.ValidationMax = v.Max
		}
	}
	return p
}

func formType(s string) provisioner.ParameterFormType {
	switch s {
	case "error":
		return provisioner.ParameterFormType_FORM_ERROR
	case "radio":
		return provisioner.ParameterFormType_RADIO
	case "dropdown":
		return provisioner.ParameterFormType_DROPDOWN
	case "input":
		return provisioner.ParameterFormType_INPUT
	case "textarea":
		return provisioner.ParameterFormType_TEXTAREA
	case "slider":
		return provisioner.ParameterFormType_SLIDER
	case "checkbox":
		return provisioner.ParameterFormType_CHECKBOX
	case "switch":
		return provisioner.ParameterFormType_SWITCH
	case "tag-select":
		return provisioner.ParameterFormType_TAGSELECT
	case "multi-select":
		return provisioner.ParameterFormType_MULTISELECT
	}
	return provisioner.ParameterFormType_DEFAULT
}

func (g *assembly) addPresets(done *provisioner.GraphComplete) error {
	names, defaults := map[string]string{}, ""
	for _, i := range g.of("data", "coder_workspace_preset") {
		var a attribute.Preset
		if err := i.decode(&a); err != nil {
			return err
		}
		if other, ok := names[a.Name]; ok {
			return fmt.Errorf("%s and %s have the same name %q; preset names must be unique", other, i.address, a.Name)
		}
		names[a.Name] = i.address
		if a.Default && defaults != "" {
			return fmt.Errorf("%s and %s are both the default preset; only one preset may be the default", defaults, i.address)
		}
		if a.Default {
			defaults = i.address
		}
		p := &provisioner.Preset{Name: a.Name, Description: a.Description, Icon: a.Icon, Default: a.Default, Prebuild: prebuild(a)}
		for _, name := range slices.Sorted(maps.Keys(a.Parameters)) {
			if !slices.ContainsFunc(done.Parameters, func(p *provisioner.RichParameter) bool { return p.GetName() == name }) {
				g.warn("%s sets the parameter %q, which the template does not declare", i.address, name)
			}
			p.Parameters = append(p.Parameters, &provisioner.PresetParameter{Name: name, Value: a.Parameters[name]})
		}
		done.Presets = append(done.Presets, p)
	}
	return nil
}

func prebuild(a attribute.Preset) *provisioner.Prebuild {
	if len(a.Prebuilds) == 0 {
		return nil
	}
	b := a.Prebuilds[0]
	p := &provisioner.Prebuild{Instances: b.Instances}
	for _, e := range b.ExpirationPolicy {
		p.ExpirationPolicy = &provisioner.ExpirationPolicy{Ttl: e.TTL}
	}
	for _, s := range b.Scheduling {
		p.Scheduling = &provisioner.Scheduling{Timezone: s.Timezone}
		for _, at := range s.Schedule {
			p.Scheduling.Schedule = append(p.Scheduling.Schedule, &provisioner.Schedule{Cron: at.Cron, Instances: at.Instances})
		}
	}
	return p
}

// addExternalAuth lists the external authentication that the template requires
// of the workspace's owner. A provider that is listed twice is required if
// either entry requires it.
func (g *assembly) addExternalAuth(done *provisioner.GraphComplete) error {
	optional := map[string]bool{}
	for _, i := range g.of("data", "coder_external_auth") {
		var a attribute.ExternalAuth
		if err := i.decode(&a); err != nil {
			return err
		}
		known, ok := optional[a.ID]
		optional[a.ID] = a.Optional && (known || !ok)
	}
	for _, id := range slices.Sorted(maps.Keys(optional)) {
		done.ExternalAuthProviders = append(done.ExternalAuthProviders, &provisioner.ExternalAuthProviderResource{Id: id, Optional: optional[id]})
	}
	return nil
}

func (g *assembly) addTasks(done *provisioner.GraphComplete) error {
	for _, i := range g.of("managed", "coder_ai_task") {
		var a attribute.AITask
		if err := i.decode(&a); err != nil {
			return err
		}
		t := &provisioner.AITask{Id: a.ID, AppId: a.AppID}
		for _, app := range a.SidebarApp {
			t.SidebarApp = &provisioner.AITaskSidebarApp{Id: app.ID}
			if t.AppId == "" {
				t.AppId = app.ID
			}
		}
		done.AiTasks = append(done.AiTasks, t)
	}
	done.HasAiTasks = len(done.AiTasks) > 0
	return nil
}
