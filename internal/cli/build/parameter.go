package build

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/google/uuid"
	"go.yaml.in/yaml/v3"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/cli/terminal"
	"github.com/seed-2a7f8fe7/coder/internal/option"
	"github.com/seed-2a7f8fe7/coder/internal/rule/parametervalue"
)

// Inputs are the flags that set parameter values.
type Inputs struct {
	Parameters, defaults, Ephemeral []string
	file                            string
	UseDefaults                     bool // use defaults without prompting
	PromptEphemeral                 bool
	AlwaysPrompt                    bool
}

// Given reports whether the flags may change the values of a workspace.
func (in *Inputs) Given() bool {
	return in.AlwaysPrompt || in.PromptEphemeral || in.file != "" || len(in.Parameters)+len(in.Ephemeral) > 0
}

// Values returns the values of the file, overridden by those of the flags.
func (in *Inputs) Values() (map[string]string, error) {
	values := map[string]string{}
	if in.file != "" {
		var err error
		if values, err = ReadValues(in.file); err != nil {
			return nil, err
		}
	}
	flags, err := option.Pairs("--parameter", append(slices.Clone(in.Parameters), in.Ephemeral...))
	if err != nil {
		return nil, command.Failure("%s", err)
	}
	maps.Copy(values, flags)
	return values, nil
}

// ParameterOption returns --parameter.
func (in *Inputs) ParameterOption() *option.Option {
	return option.List(&in.Parameters, "parameter", "Parameter value, as name=value (repeatable)").Env("CODER_RICH_PARAMETER")
}

// FileOption returns --rich-parameter-file.
func (in *Inputs) FileOption() *option.Option {
	return option.String(&in.file, "rich-parameter-file", "YAML file with parameter values, as name: value").Env("CODER_RICH_PARAMETER_FILE")
}

// DefaultOption returns --parameter-default.
func (in *Inputs) DefaultOption() *option.Option {
	return option.List(&in.defaults, "parameter-default", "Default for a parameter, overrides the template's, as name=value (repeatable)").
		Env("CODER_RICH_PARAMETER_DEFAULT")
}

// EphemeralOptions returns the hidden flags that set ephemeral parameters for
// the first build.
func (in *Inputs) EphemeralOptions() []*option.Option {
	return []*option.Option{
		option.List(&in.Ephemeral, "ephemeral-parameter", "Ephemeral parameter value for this build only, as name=value (repeatable)").
			Env("CODER_EPHEMERAL_PARAMETER").
			Hide(),
		option.Bool(&in.PromptEphemeral, "prompt-ephemeral-parameters", "Prompt for ephemeral parameters").Env("CODER_PROMPT_EPHEMERAL_PARAMETERS").Hide(),
	}
}

// BuildOptions returns the parameter flags of start, restart and update.
func (in *Inputs) BuildOptions() []*option.Option {
	return []*option.Option{
		option.List(&in.Ephemeral, "build-option", "Deprecated: use --ephemeral-parameter").Env("CODER_BUILD_OPTION"),
		option.Bool(&in.PromptEphemeral, "build-options", "Deprecated: use --prompt-ephemeral-parameters"),
		option.List(&in.Ephemeral, "ephemeral-parameter", "Ephemeral parameter value for this build only, as name=value (repeatable)").
			Env("CODER_EPHEMERAL_PARAMETER"),
		option.Bool(&in.PromptEphemeral, "prompt-ephemeral-parameters", "Prompt for ephemeral parameters").Env("CODER_PROMPT_EPHEMERAL_PARAMETERS"),
		in.ParameterOption(), in.FileOption(), in.DefaultOption(),
		option.Bool(&in.AlwaysPrompt, "always-prompt", "Prompt for every parameter, even those that have a value"),
	}
}

// Resolver resolves the values of a version's parameters. Values come from the
// preset, the flags, the file or the previous build; on a terminal the user is
// prompted for the others.
type Resolver struct {
	App    *command.Run
	Form   Form
	In     *Inputs
	Create bool // first build, without previous values
	Quiet  bool // --yes: prompt only for parameters without a default
	Preset []codersdk.PresetParameter
	before []codersdk.WorkspaceBuildParameter // values of the previous build, stored by the server
	Copied []codersdk.WorkspaceBuildParameter // values of another workspace

	defs     []codersdk.TemplateVersionParameter // parameters of the form for the current values
	seen     map[string]bool                     // names of all parameters that any form contained
	given    map[string]string
	offered  map[string]string
	previous map[string]string
}

// Resolve returns the values to send. It omits values that the server already
// stores or takes from the default. A value may change which parameters exist,
// so Resolve requests the form again after each value that differs from the
// known one.
func (r *Resolver) Resolve() ([]codersdk.WorkspaceBuildParameter, error) {
	if err := r.read(); err != nil {
		return nil, err
	}
	values, chosen := r.start(), map[string]string{}
	if err := r.open(values); err != nil {
		return nil, err
	}
	for _, p := range r.Copied {
		if _, ok := r.given[p.Name]; !ok && r.seen[p.Name] {
			r.given[p.Name] = p.Value
		}
	}
	decided := map[string]bool{}
	for {
		i := slices.IndexFunc(r.defs, func(d codersdk.TemplateVersionParameter) bool { return !decided[d.Name] })
		if i < 0 {
			break
		}
		d := r.defs[i]
		decided[d.Name] = true
		v, ok, err := r.value(d)
		if err != nil {
			return nil, fmt.Errorf("parameter %s: %w", d.Name, err)
		}
		if !ok {
			continue
		}
		chosen[d.Name] = v
		if was, known := values[d.Name]; known && was == v || !known && d.DefaultValue == v {
			continue
		}
		values[d.Name] = v
		if err := r.open(values); err != nil {
			return nil, err
		}
	}
	for name := range r.given {
		if !r.seen[name] {
			return nil, r.unknown(name)
		}
	}
	var out []codersdk.WorkspaceBuildParameter
	for _, d := range r.defs {
		if v, ok := chosen[d.Name]; ok {
			out = append(out, codersdk.WorkspaceBuildParameter{Name: d.Name, Value: v})
		}
	}
	return out, nil
}

// start returns the values that are known before the user is prompted.
func (r *Resolver) start() map[string]string {
	values := maps.Clone(r.previous)
	for _, p := range r.Copied {
		values[p.Name] = p.Value
	}
	maps.Copy(values, r.given)
	for _, p := range r.Preset {
		values[p.Name] = p.Value
	}
	return values
}

// open requests the form for values.
func (r *Resolver) open(values map[string]string) (err error) {
	if r.defs, err = r.Form(values); err != nil {
		return err
	}
	if r.seen == nil {
		r.seen = map[string]bool{}
	}
	for _, d := range r.defs {
		r.seen[d.Name] = true
	}
	return nil
}

// read collects the values of flags and files.
func (r *Resolver) read() (err error) {
	r.previous = map[string]string{}
	if r.given, err = r.In.Values(); err != nil {
		return err
	}
	if r.offered, err = option.Pairs("--parameter-default", r.In.defaults); err != nil {
		return command.Failure("%s", err)
	}
	for _, p := range r.before {
		r.previous[p.Name] = p.Value
	}
	return nil
}

func (r *Resolver) unknown(name string) error {
	names := slices.Sorted(maps.Keys(r.seen))
	switch near := command.Nearest(name, names); {
	case near != "":
		return command.Failure("the template has no parameter %q, did you mean %q?", name, near)
	case len(names) == 0:
		return command.Failure("the template has no parameter %q; it has no parameters", name)
	}
	return command.Failure("the template has no parameter %q; it has %s", name, strings.Join(names, ", "))
}

// value resolves one parameter. ok is false when there is nothing to send.
func (r *Resolver) value(d codersdk.TemplateVersionParameter) (v string, ok bool, err error) {
	for _, p := range r.Preset {
		if p.Name == d.Name {
			return p.Value, true, nil
		}
	}
	if v, given := r.given[d.Name]; given {
		return v, true, parametervalue.Check(d, v)
	}
	before, had := r.previous[d.Name]
	fits := had && parametervalue.Check(d, before) == nil
	offered, offer := r.offered[d.Name]
	initial := d.DefaultValue
	if offer {
		initial = offered
	}
	switch {
	case d.Ephemeral && !r.In.PromptEphemeral:
		return offered, offer, nil
	case !r.Create && fits && (!r.In.AlwaysPrompt || !d.Mutable):
		return "", false, nil
	case !r.Create && !d.Mutable && had && fits:
		return "", false, nil
	case !d.Required && (r.In.UseDefaults || r.Quiet || !r.App.Interactive()):
		return initial, offer, parametervalue.Check(d, initial)
	case offer && (r.In.UseDefaults || r.Quiet || !r.App.Interactive()):
		return initial, true, parametervalue.Check(d, initial)
	}
	if fits {
		initial = before
	}
	v, err = askParameter(r.App, d, initial)
	return v, true, err
}

// askParameter prompts for one parameter: a choice for options and booleans,
// validated text for the others.
func askParameter(a *command.Run, d codersdk.TemplateVersionParameter, initial string) (string, error) {
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
	if d.Type == codersdk.ParameterTypeBool && len(options) == 0 {
		options = []codersdk.TemplateVersionParameterOption{{Name: "true", Value: "true"}, {Name: "false", Value: "false"}}
	}
	if len(options) > 0 && d.Type != codersdk.ParameterTypeListString {
		items, at := make([]command.Item, len(options)), -1
		for i, o := range options {
			items[i] = command.Item{Label: o.Name, Note: o.Description}
			if o.Value == initial {
				at = i
			}
		}
		i, err := a.Pick(question+":", items, at, instead)
		if err != nil {
			return "", err
		}
		return options[i].Value, nil
	}
	if d.Type == codersdk.ParameterTypeListString {
		return askList(a, question, initial, instead, d)
	}
	return a.Ask(question+":", initial, instead, func(v string) error { return parametervalue.Check(d, v) })
}

// askList prompts for comma-separated values and returns them as a JSON array.
func askList(a *command.Run, question, initial, instead string, d codersdk.TemplateVersionParameter) (string, error) {
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
	_, err := a.Ask(question+", separated by commas:", initial, instead, func(s string) error {
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
		return parametervalue.Check(d, value)
	})
	return value, err
}

// PickPreset returns the preset with that name. Without a name it prompts when
// the version has presets. It returns nil for no preset.
func PickPreset(ctx context.Context, a *command.Run, c *codersdk.Client, version uuid.UUID, name string, quiet bool) (*codersdk.Preset, error) {
	if strings.EqualFold(name, "none") {
		return nil, nil
	}
	all, err := c.TemplateVersionPresets(ctx, version)
	if err != nil {
		return nil, err
	}
	items := []command.Item{{Label: "none", Note: "set each value"}}
	initial := 0
	for i, p := range all {
		if p.Name == name {
			return &all[i], nil
		}
		items = append(items, command.Item{Label: p.Name, Note: p.Description})
		if p.Default {
			initial = i + 1
		}
	}
	switch {
	case name != "":
		return nil, codersdk.Errorf(codersdk.CodeNotFound, "the template version has no preset %q", name)
	case len(all) == 0:
		return nil, nil
	case quiet || !a.Interactive():
		if initial == 0 {
			return nil, nil
		}
		return &all[initial-1], nil
	}
	i, err := a.Pick("Which preset?", items, initial, "use --preset")
	if err != nil || i == 0 {
		return nil, err
	}
	return &all[i-1], nil
}

// textOf returns a YAML value as text.
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

// ReadValues reads a YAML file of names and values. Lists and maps become JSON,
// which Terraform and parameters accept.
func ReadValues(path string) (map[string]string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	raw := map[string]any{}
	if err := yaml.Unmarshal(b, &raw); err != nil {
		return nil, command.Failure("%s is not YAML of the form \"name: value\": %s", path, err)
	}
	values := make(map[string]string, len(raw))
	for k, v := range raw {
		if values[k], err = textOf(v); err != nil {
			return nil, command.Failure("%s: %s: %s", path, k, err)
		}
	}
	return values, nil
}
