package template

import (
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// parameters returns the parameters of a version from a plan, in the order of the template.
func parameters(in []*provisioner.RichParameter) ([]codersdk.TemplateVersionParameter, error) {
	in = slices.Clone(in)
	slices.SortStableFunc(in, func(a, b *provisioner.RichParameter) int { return int(a.Order) - int(b.Order) })
	out := make([]codersdk.TemplateVersionParameter, 0, len(in))
	seen := map[string]bool{}
	for _, p := range in {
		switch {
		case p.Name == "":
			return nil, codersdk.Errorf(codersdk.CodeInvalid, "A coder_parameter of the template has no name; set its name")
		case seen[p.Name]:
			return nil, codersdk.Errorf(codersdk.CodeInvalid, "Two coder_parameter blocks are named %q; names must be unique", p.Name)
		}
		seen[p.Name] = true
		if p.ValidationRegex != "" {
			if _, err := regexp.Compile(p.ValidationRegex); err != nil {
				return nil, codersdk.Errorf(codersdk.CodeInvalid, "The validation regex of the parameter %q is not valid: %v", p.Name, err)
			}
		}
		if p.Ephemeral && p.Required {
			return nil, codersdk.Errorf(codersdk.CodeInvalid, "The ephemeral parameter %q requires a default", p.Name)
		}
		out = append(out, learned(p))
	}
	return out, nil
}

func learned(p *provisioner.RichParameter) codersdk.TemplateVersionParameter {
	out := codersdk.TemplateVersionParameter{
		Name: p.Name, DisplayName: p.DisplayName, Description: p.Description, DescriptionPlaintext: plaintext(p.Description),
		Type: p.Type, FormType: string(formType(p.FormType)), Mutable: p.Mutable, Ephemeral: p.Ephemeral,
		DefaultValue: p.DefaultValue, Required: p.Required, Icon: p.Icon,
		ValidationRegex: p.ValidationRegex, ValidationError: p.ValidationError,
		ValidationMin: p.ValidationMin, ValidationMax: p.ValidationMax,
		ValidationMonotonic: codersdk.ValidationMonotonicOrder(p.ValidationMonotonic),
		Options:             []codersdk.TemplateVersionParameterOption{},
	}
	for _, o := range p.Options {
		out.Options = append(out.Options, codersdk.TemplateVersionParameterOption{Name: o.Name, Description: o.Description, Value: o.Value, Icon: o.Icon})
	}
	return out
}

func formType(t provisioner.ParameterFormType) codersdk.ParameterFormType {
	switch t {
	case provisioner.ParameterFormType_FORM_ERROR:
		return codersdk.ParameterFormTypeError
	case provisioner.ParameterFormType_RADIO:
		return codersdk.ParameterFormTypeRadio
	case provisioner.ParameterFormType_DROPDOWN:
		return codersdk.ParameterFormTypeDropdown
	case provisioner.ParameterFormType_INPUT:
		return codersdk.ParameterFormTypeInput
	case provisioner.ParameterFormType_TEXTAREA:
		return codersdk.ParameterFormTypeTextarea
	case provisioner.ParameterFormType_SLIDER:
		return codersdk.ParameterFormTypeSlider
	case provisioner.ParameterFormType_CHECKBOX:
		return codersdk.ParameterFormTypeCheckbox
	case provisioner.ParameterFormType_SWITCH:
		return codersdk.ParameterFormTypeSwitch
	case provisioner.ParameterFormType_TAGSELECT:
		return codersdk.ParameterFormTypeTagSelect
	case provisioner.ParameterFormType_MULTISELECT:
		return codersdk.ParameterFormTypeMultiSelect
	}
	return codersdk.ParameterFormTypeDefault
}

func presets(in []*provisioner.Preset) ([]codersdk.StoredPreset, error) {
	out := make([]codersdk.StoredPreset, 0, len(in))
	for _, p := range in {
		preset := codersdk.StoredPreset{
			ID: uuid.New(), Name: p.Name, Description: p.Description, Icon: p.Icon, Default: p.Default,
			DesiredPrebuildInstances: int64(p.GetPrebuild().GetInstances()), Parameters: []codersdk.PresetParameter{},
		}
		for _, v := range p.Parameters {
			preset.Parameters = append(preset.Parameters, codersdk.PresetParameter{Name: v.Name, Value: v.Value})
		}
		if b := p.GetPrebuild(); b != nil {
			preset.Prebuilds = prebuilds(b)
			if err := preset.Prebuilds.Check(); err != nil {
				return nil, codersdk.Errorf(codersdk.CodeInvalid, "The prebuilds of the preset %q are not valid: %v", p.Name, err)
			}
		}
		out = append(out, preset)
	}
	return out, nil
}

func prebuilds(b *provisioner.Prebuild) *codersdk.PresetPrebuilds {
	out := &codersdk.PresetPrebuilds{
		Instances: int64(b.Instances), TTLSeconds: int64(b.GetExpirationPolicy().GetTtl()), Timezone: b.GetScheduling().GetTimezone(),
	}
	for _, s := range b.GetScheduling().GetSchedule() {
		out.Schedules = append(out.Schedules, codersdk.PrebuildSchedule{Cron: s.Cron, Instances: int64(s.Instances)})
	}
	return out
}

// externalAuth accepts both forms in which provisioners report external authentications.
func externalAuth(r *provisionerd.CompletedJob_TemplateImport) []codersdk.TemplateVersionExternalAuth {
	out := []codersdk.TemplateVersionExternalAuth{}
	for _, p := range r.ExternalAuthProviders {
		out = append(out, codersdk.TemplateVersionExternalAuth{ID: p.Id, Optional: p.Optional})
	}
	if len(out) == 0 {
		for _, id := range r.ExternalAuthProvidersNames {
			out = append(out, codersdk.TemplateVersionExternalAuth{ID: id})
		}
	}
	return out
}

// checkProviders returns an error if a version requires a provider that the deployment does not have.
func (s *Service) checkProviders(declared []codersdk.TemplateVersionExternalAuth) error {
	for _, d := range declared {
		if d.Optional || s.Links == nil {
			continue
		}
		if _, configured := s.Links.Requirement(d.ID); !configured {
			return codersdk.Errorf(codersdk.CodeInvalid, "The template requires the external authentication provider %q, which this deployment does not have. "+
				"An administrator must configure it (CODER_EXTERNAL_AUTH_<n>_ID=%s and more), or the template must declare it with optional = true", d.ID, d.ID)
		}
	}
	return nil
}

// plaintext removes Markdown formatting.
func plaintext(md string) string {
	links := regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	marks := regexp.MustCompile("(?m)^[ \t]*(?:#{1,6}|>|[-*+])[ \t]+|[*_~`]{1,3}([^*_~`\n]+)[*_~`]{1,3}")
	return strings.TrimSpace(marks.ReplaceAllString(links.ReplaceAllString(md, "$1"), "$1"))
}
