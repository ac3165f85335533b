package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
	"github.com/seed-2a7f8fe7/coder/internal/cli/terminal"
)

// inputs are the flags that give parameters their values.
type inputs struct {
	parameters, defaults, ephemeral []string
	file                            string
	useDefaults                     bool // take defaults without asking
	promptEphemeral                 bool
	alwaysPrompt                    bool
}

func (in *inputs) parameterOption() *option.Option {
	return option.List(&in.parameters, "parameter", "Value of a parameter, as name=value. May be repeated.").Env("CODER_RICH_PARAMETER")
}

func (in *inputs) fileOption() *option.Option {
	return option.String(&in.file, "rich-parameter-file", "YAML file with values of parameters, as name: value.").Env("CODER_RICH_PARAMETER_FILE")
}

func (in *inputs) defaultOption() *option.Option {
	return option.List(&in.defaults, "parameter-default", "Default to offer for a parameter instead of the template's, as name=value. May be repeated.").Env("CODER_RICH_PARAMETER_DEFAULT")
}

// buildOptions are the flags of start, restart and update.
func (in *inputs) buildOptions() []*option.Option {
	return []*option.Option{
		option.List(&in.ephemeral, "build-option", "Older name of --ephemeral-parameter.").Env("CODER_BUILD_OPTION"),
		option.Bool(&in.promptEphemeral, "build-options", "Older name of --prompt-ephemeral-parameters."),
		option.List(&in.ephemeral, "ephemeral-parameter", "Value of a parameter for this build alone, as name=value. May be repeated.").Env("CODER_EPHEMERAL_PARAMETER"),
		option.Bool(&in.promptEphemeral, "prompt-ephemeral-parameters", "Ask for the parameters that hold for one build alone.").Env("CODER_PROMPT_EPHEMERAL_PARAMETERS"),
		in.parameterOption(), in.fileOption(), in.defaultOption(),
		option.Bool(&in.alwaysPrompt, "always-prompt", "Ask for every parameter, also those that have a value."),
	}
}

// resolver finds the values of a version's parameters: from the preset, the
// flags, the file, the build before; else, at a terminal, by asking.
type resolver struct {
	app    *app
	defs   []coder.TemplateVersionParameter
	in     *inputs
	create bool // the first build: there are no values yet
	quiet  bool // --yes: ask only for what has no default
	preset []coder.PresetParameter
	before []coder.WorkspaceBuildParameter // of the build before, kept by the server
	copied []coder.WorkspaceBuildParameter // of another workspace

	given    map[string]string
	offered  map[string]string
	previous map[string]string
}

// resolve gives the values to send. Those that the server knows already, or
// takes from the default, are left out.
func (r *resolver) resolve() ([]coder.WorkspaceBuildParameter, error) {
	if err := r.read(); err != nil {
		return nil, err
	}
	var out []coder.WorkspaceBuildParameter
	for _, d := range r.defs {
		v, ok, err := r.value(d)
		if err != nil {
			return nil, fmt.Errorf("parameter %s: %w", d.Name, err)
		}
		if ok {
			out = append(out, coder.WorkspaceBuildParameter{Name: d.Name, Value: v})
		}
	}
	return out, nil
}

// read gathers what flags and files say.
func (r *resolver) read() (err error) {
	r.given, r.previous = map[string]string{}, map[string]string{}
	if r.in.file != "" {
		if r.given, err = readValues(r.in.file); err != nil {
			return err
		}
	}
	for _, p := range r.copied {
		if _, ok := r.given[p.Name]; !ok && r.knows(p.Name) {
			r.given[p.Name] = p.Value
		}
	}
	flags, err := option.Pairs("--parameter", append(slices.Clone(r.in.parameters), r.in.ephemeral...))
	if err != nil {
		return failure("%s", err)
	}
	for k, v := range flags {
		r.given[k] = v
	}
	if r.offered, err = option.Pairs("--parameter-default", r.in.defaults); err != nil {
		return failure("%s", err)
	}
	for _, p := range r.before {
		r.previous[p.Name] = p.Value
	}
	for name := range r.given {
		if !r.knows(name) {
			return r.unknown(name)
		}
	}
	return nil
}

func (r *resolver) knows(name string) bool {
	return slices.ContainsFunc(r.defs, func(d coder.TemplateVersionParameter) bool { return d.Name == name })
}

func (r *resolver) unknown(name string) error {
	var names []string
	for _, d := range r.defs {
		names = append(names, d.Name)
	}
	switch near := nearest(name, names); {
	case near != "":
		return failure("this template has no parameter %q, did you mean %q?", name, near)
	case len(names) == 0:
		return failure("this template has no parameter %q; it has none at all", name)
	}
	return failure("this template has no parameter %q; it has %s", name, strings.Join(names, ", "))
}

// value decides one parameter. ok is false when there is nothing to send.
func (r *resolver) value(d coder.TemplateVersionParameter) (v string, ok bool, err error) {
	for _, p := range r.preset {
		if p.Name == d.Name {
			return p.Value, true, nil
		}
	}
	if v, given := r.given[d.Name]; given {
		return v, true, d.CheckValue(v)
	}
	before, had := r.previous[d.Name]
	fits := had && d.CheckValue(before) == nil
	offered, offer := r.offered[d.Name]
	initial := d.DefaultValue
	if offer {
		initial = offered
	}
	switch {
	case d.Ephemeral && !r.in.promptEphemeral:
		return offered, offer, nil
	case !r.create && fits && (!r.in.alwaysPrompt || !d.Mutable):
		return "", false, nil
	case !r.create && !d.Mutable && had && fits:
		return "", false, nil
	case !d.Required && (r.in.useDefaults || r.quiet || !r.app.interactive()):
		return initial, offer, d.CheckValue(initial)
	case offer && (r.in.useDefaults || r.quiet || !r.app.interactive()):
		return initial, true, d.CheckValue(initial)
	}
	if fits {
		initial = before
	}
	v, err = r.app.askParameter(d, initial)
	return v, true, err
}

// askParameter asks for the value of one parameter: a choice for options and
// truth values, text that is checked as typed for the rest.
func (a *app) askParameter(d coder.TemplateVersionParameter, initial string) (string, error) {
	instead := fmt.Sprintf("use --parameter %s=<value>", d.Name)
	question := d.Name
	if d.DisplayName != "" {
		question = d.DisplayName
	}
	if d.DescriptionPlaintext != "" {
		question += " (" + terminal.OneLine(d.DescriptionPlaintext) + ")"
	} else if d.Description != "" {
		question += " (" + terminal.OneLine(d.Description) + ")"
	}
	options := d.Options
	if d.Type == coder.ParameterTypeBool && len(options) == 0 {
		options = []coder.TemplateVersionParameterOption{{Name: "true", Value: "true"}, {Name: "false", Value: "false"}}
	}
	if len(options) > 0 && d.Type != coder.ParameterTypeListString {
		items, at := make([]item, len(options)), -1
		for i, o := range options {
			items[i] = item{o.Name, o.Description}
			if o.Value == initial {
				at = i
			}
		}
		i, err := a.pick(question+":", items, at, instead)
		if err != nil {
			return "", err
		}
		return options[i].Value, nil
	}
	if d.Type == coder.ParameterTypeListString {
		return a.askList(question, initial, instead, d)
	}
	return a.ask(question+":", initial, instead, d.CheckValue)
}

// askList asks for several texts, separated by commas, and gives them as JSON.
func (a *app) askList(question, initial, instead string, d coder.TemplateVersionParameter) (string, error) {
	var now []string
	if json.Unmarshal([]byte(initial), &now) == nil {
		initial = option.JoinCSV(now)
	}
	if len(d.Options) > 0 {
		var of []string
		for _, o := range d.Options {
			of = append(of, o.Value)
		}
		question += ", any of " + strings.Join(of, ", ")
	}
	value := ""
	_, err := a.ask(question+", separated by commas:", initial, instead, func(s string) error {
		fields, err := option.SplitCSV(s)
		if err != nil {
			return err
		}
		if fields == nil {
			fields = []string{}
		}
		b, err := json.Marshal(fields)
		value = string(b)
		if err != nil {
			return err
		}
		return d.CheckValue(value)
	})
	return value, err
}

// pickPreset finds the preset of that name, or asks when there are some and
// none is named. nil is no preset.
func (a *app) pickPreset(ctx context.Context, c *client.Client, version uuid.UUID, name string, quiet bool) (*coder.Preset, error) {
	if strings.EqualFold(name, "none") {
		return nil, nil
	}
	all, err := c.TemplateVersionPresets(ctx, version)
	if err != nil {
		return nil, err
	}
	items := []item{{"none", "give the values one by one"}}
	initial := 0
	for i, p := range all {
		if p.Name == name {
			return &all[i], nil
		}
		items = append(items, item{p.Name, p.Description})
		if p.Default {
			initial = i + 1
		}
	}
	switch {
	case name != "":
		return nil, coder.Errorf(coder.CodeNotFound, "this version has no preset %q", name)
	case len(all) == 0:
		return nil, nil
	case quiet || !a.interactive():
		if initial == 0 {
			return nil, nil
		}
		return &all[initial-1], nil
	}
	i, err := a.pick("Which preset?", items, initial, "use --preset")
	if err != nil || i == 0 {
		return nil, err
	}
	return &all[i-1], nil
}

// textOf makes the text of a YAML value.
func textOf(v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	case bool, int, int64, uint64, float64:
		return fmt.Sprint(v), nil
	}
	b, err := json.Marshal(v)
	return string(b), err
}
