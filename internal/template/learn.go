package template

import (
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
)

// parameters turns a plan's parameters into those of the version, in the order
// that the template asks for.
func parameters(in []*provisioner.RichParameter) ([]coder.TemplateVersionParameter, error) {
	in = slices.Clone(in)
	slices.SortStableFunc(in, func(a, b *provisioner.RichParameter) int { return int(a.Order) - int(b.Order) })
	out := make([]coder.TemplateVersionParameter, 0, len(in))
	seen := map[string]bool{}
	for _, p := range in {
		switch {
		case p.Name == "":
			return nil, coder.Errorf(coder.CodeInvalid, "A coder_parameter of the template has no name")
		case seen[p.Name]:
			return nil, coder.Errorf(coder.CodeInvalid, "Two coder_parameter blocks are named %q; give each a name of its own", p.Name)
		}
		seen[p.Name] = true
		if p.ValidationRegex != "" {
			if _, err := regexp.Compile(p.ValidationRegex); err != nil {
				return nil, coder.Errorf(coder.CodeInvalid, "The pattern of the parameter %q is not a regular expression: %v", p.Name, err)
			}
		}
		if p.Ephemeral && p.Required {
			return nil, coder.Errorf(coder.CodeInvalid, "The ephemeral parameter %q needs a default", p.Name)
		}
		out = append(out, learned(p))
	}
	return out, nil
}

func learned(p *provisioner.RichParameter) coder.TemplateVersionParameter {
	out := coder.TemplateVersionParameter{
		Name: p.Name, DisplayName: p.DisplayName, Description: p.Description, DescriptionPlaintext: plaintext(p.Description),
		Type: p.Type, FormType: string(formType(p.FormType)), Mutable: p.Mutable, Ephemeral: p.Ephemeral,
		DefaultValue: p.DefaultValue, Required: p.Required, Icon: p.Icon,
		ValidationRegex: p.ValidationRegex, ValidationError: p.ValidationError,
		ValidationMin: p.ValidationMin, ValidationMax: p.ValidationMax,
		ValidationMonotonic: coder.ValidationMonotonicOrder(p.ValidationMonotonic),
		Options:             []coder.TemplateVersionParameterOption{},
	}
	for _, o := range p.Options {
		out.Options = append(out.Options, coder.TemplateVersionParameterOption{Name: o.Name, Description: o.Description, Value: o.Value, Icon: o.Icon})
	}
	return out
}

func formType(t provisioner.ParameterFormType) coder.ParameterFormType {
	switch t {
	case provisioner.ParameterFormType_FORM_ERROR:
		return coder.ParameterFormTypeError
	case provisioner.ParameterFormType_RADIO:
		return coder.ParameterFormTypeRadio
	case provisioner.ParameterFormType_DROPDOWN:
		return coder.ParameterFormTypeDropdown
	case provisioner.ParameterFormType_INPUT:
		return coder.ParameterFormTypeInput
	case provisioner.ParameterFormType_TEXTAREA:
		return coder.ParameterFormTypeTextarea
	case provisioner.ParameterFormType_SLIDER:
		return coder.ParameterFormTypeSlider
	case provisioner.ParameterFormType_CHECKBOX:
		return coder.ParameterFormTypeCheckbox
	case provisioner.ParameterFormType_SWITCH:
		return coder.ParameterFormTypeSwitch
	case provisioner.ParameterFormType_TAGSELECT:
		return coder.ParameterFormTypeTagSelect
	case provisioner.ParameterFormType_MULTISELECT:
		return coder.ParameterFormTypeMultiSelect
	}
	return coder.ParameterFormTypeDefault
}

func presets(in []*provisioner.Preset) ([]coder.Preset, error) {
	out := make([]coder.Preset, 0, len(in))
	for _, p := range in {
		preset := coder.Preset{
			ID: uuid.New(), Name: p.Name, Description: p.Description, Icon: p.Icon, Default: p.Default,
			DesiredPrebuildInstances: int64(p.GetPrebuild().GetInstances()), Parameters: []coder.PresetParameter{},
		}
		for _, v := range p.Parameters {
			preset.Parameters = append(preset.Parameters, coder.PresetParameter{Name: v.Name, Value: v.Value})
		}
		if b := p.GetPrebuild(); b != nil {
			preset.Prebuilds = prebuilds(b)
			if err := preset.Prebuilds.Check(); err != nil {
				return nil, coder.Errorf(coder.CodeInvalid, "The prebuilds of the preset %q cannot be kept: %v", p.Name, err)
			}
		}
		out = append(out, preset)
	}
	return out, nil
}

func prebuilds(b *provisioner.Prebuild) *coder.PresetPrebuilds {
	out := &coder.PresetPrebuilds{
		Instances: int64(b.Instances), TTLSeconds: int64(b.GetExpirationPolicy().GetTtl()), Timezone: b.GetScheduling().GetTimezone(),
	}
	for _, s := range b.GetScheduling().GetSchedule() {
		out.Schedules = append(out.Schedules, coder.PrebuildSchedule{Cron: s.Cron, Instances: int64(s.Instances)})
	}
	return out
}

// externalAuth takes both forms in which provisioners tell of external logins.
func externalAuth(r *provisionerd.CompletedJob_TemplateImport) []coder.TemplateVersionExternalAuth {
	out := []coder.TemplateVersionExternalAuth{}
	for _, p := range r.ExternalAuthProviders {
		out = append(out, coder.TemplateVersionExternalAuth{ID: p.Id, Optional: p.Optional})
	}
	if len(out) == 0 {
		for _, id := range r.ExternalAuthProvidersNames {
			out = append(out, coder.TemplateVersionExternalAuth{ID: id})
		}
	}
	return out
}

// plaintext strips Markdown down to its words.
func plaintext(md string) string {
	links := regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	marks := regexp.MustCompile("(?m)^[ \t]*(?:#{1,6}|>|[-*+])[ \t]+|[*_~`]{1,3}([^*_~`\n]+)[*_~`]{1,3}")
	return strings.TrimSpace(marks.ReplaceAllString(links.ReplaceAllString(md, "$1"), "$1"))
}
