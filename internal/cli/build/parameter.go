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
	"gopkg.in/yaml.v3"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
	"github.com/seed-2a7f8fe7/coder/internal/cli/terminal"
)

// Inputs are the flags that give parameters their values.
type Inputs struct {
	Parameters, defaults, Ephemeral []string
	file                            string
	UseDefaults                     bool // take defaults without asking
	PromptEphemeral                 bool
	AlwaysPrompt                    bool
}

// Given says that something may change the values that a workspace has.
func (in *Inputs) Given() bool {
	return in.AlwaysPrompt || in.PromptEphemeral || in.file != "" || len(in.Parameters)+len(in.Ephemeral) > 0
}

// Values are the values of the file, over which those of the flags go.
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
		return nil, app.Failure("%s", err)
	}
	maps.Copy(values, flags)
	return values, nil
}

// ParameterOption is --parameter.
func (in *Inputs) ParameterOption() *option.Option {
	return option.List(&in.Parameters, "parameter", "Value of a parameter, as name=value. May be repeated.").Env("CODER_RICH_PARAMETER")
}

// FileOption is --rich-parameter-file.
func (in *Inputs) FileOption() *option.Option {
	return option.String(&in.file, "rich-parameter-file", "YAML file with values of parameters, as name: value.").Env("CODER_RICH_PARAMETER_FILE")
}

// DefaultOption is --parameter-default.
func (in *Inputs) DefaultOption() *option.Option {
	return option.List(&in.defaults, "parameter-default", "Default to offer for a parameter instead of the template's, as name=value. May be repeated.").Env("CODER_RICH_PARAMETER_DEFAULT")
}

// BuildOptions are the flags of start, restart and update.
func (in *Inputs) BuildOptions() []*option.Option {
	return []*option.Option{
		option.List(&in.Ephemeral, "build-option", "Older name of --ephemeral-parameter.").Env("CODER_BUILD_OPTION"),
		option.Bool(&in.PromptEphemeral, "build-options", "Older name of --prompt-ephemeral-parameters."),
		option.List(&in.Ephemeral, "ephemeral-parameter", "Value of a parameter for this build alone, as name=value. May be repeated.").Env("CODER_EPHEMERAL_PARAMETER"),
		option.Bool(&in.PromptEphemeral, "prompt-ephemeral-parameters", "Ask for the parameters that hold for one build alone.").Env("CODER_PROMPT_EPHEMERAL_PARAMETERS"),
		in.ParameterOption(), in.FileOption(), in.DefaultOption(),
		option.Bool(&in.AlwaysPrompt, "always-prompt", "Ask for every parameter, also those that have a value."),
	}
}

// Resolver finds the values of a version's parameters: from the preset, the
// flags, the file, the build before; else, at a terminal, by asking.
type Resolver struct {
	App    *app.Run
	Form   Form
	In     *Inputs
	Create bool // the first build: there are no values yet
	Quiet  bool // --yes: ask only for what has no default
	Preset []coder.PresetParameter
	before []coder.WorkspaceBuildParameter // of the build before, kept by the server
	Copied []coder.WorkspaceBuildParameter // of another workspace

	defs     []coder.TemplateVersionParameter // those that there are with the values so far
	seen     map[string]bool                  // all names that there were
	given    map[string]string
	offered  map[string]string
	previous map[string]string
}

// Resolve gives the values to send. Those that the server knows already, or
// takes from the default, are left out. A value may make other parameters come
// and go: the form is asked for again after each that says something new.
func (r *Resolver) Resolve() ([]coder.WorkspaceBuildParameter, error) {
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
		i := slices.IndexFunc(r.defs, func(d coder.TemplateVersionParameter) bool { return !decided[d.Name] })
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
	var out []coder.WorkspaceBuildParameter
	for _, d := range r.defs {
		if v, ok := chosen[d.Name]; ok {
			out = append(out, coder.WorkspaceBuildParameter{Name: d.Name, Value: v})
		}
	}
	return out, nil
}

// start gives the values that are known before anything is asked.
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

// open gets the form with the values.
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

// read gathers what flags and files say.
func (r *Resolver) read() (err error) {
	r.previous = map[string]string{}
	if r.given, err = r.In.Values(); err != nil {
		return err
	}
	if r.offered, err = option.Pairs("--parameter-default", r.In.defaults); err != nil {
		return app.Failure("%s", err)
	}
	for _, p := range r.before {
		r.previous[p.Name] = p.Value
	}
	return nil
}

func (r *Resolver) unknown(name string) error {
	names := slices.Sorted(maps.Keys(r.seen))
	switch near := app.Nearest(name, names); {
	case near != "":
		return app.Failure("this template has no parameter %q, did you mean %q?", name, near)
	case len(names) == 0:
		return app.Failure("this template has no parameter %q; it has none at all", name)
	}
	return app.Failure("this template has no parameter %q; it has %s", name, strings.Join(names, ", "))
}

// value decides one parameter. ok is false when there is nothing to send.
func (r *Resolver) value(d coder.TemplateVersionParameter) (v string, ok bool, err error) {
	for _, p := range r.Preset {
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
	case d.Ephemeral && !r.In.PromptEphemeral:
		return offered, offer, nil
	case !r.Create && fits && (!r.In.AlwaysPrompt || !d.Mutable):
		return "", false, nil
	case !r.Create && !d.Mutable && had && fits:
		return "", false, nil
	case !d.Required && (r.In.UseDefaults || r.Quiet || !r.App.Interactive()):
		return initial, offer, d.CheckValue(initial)
	case offer && (r.In.UseDefaults || r.Quiet || !r.App.Interactive()):
		return initial, true, d.CheckValue(initial)
	}
	if fits {
		initial = before
	}
	v, err = askParameter(r.App, d, initial)
	return v, true, err
}

// askParameter asks for the value of one parameter: a choice for options and
// truth values, text that is checked as typed for the rest.
func askParameter(a *app.Run, d coder.TemplateVersionParameter, initial string) (string, error) {
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
		items, at := make([]app.Item, len(options)), -1
		for i, o := range options {
			items[i] = app.Item{Label: o.Name, Note: o.Description}
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
	if d.Type == coder.ParameterTypeListString {
		return askList(a, question, initial, instead, d)
	}
	return a.Ask(question+":", initial, instead, d.CheckValue)
}

// askList asks for several texts, separated by commas, and gives them as JSON.
func askList(a *app.Run, question, initial, instead string, d coder.TemplateVersionParameter) (string, error) {
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
		return d.CheckValue(value)
	})
	return value, err
}

// PickPreset finds the preset of that name, or asks when there are some and
// none is named. nil is no preset.
func PickPreset(ctx context.Context, a *app.Run, c *client.Client, version uuid.UUID, name string, quiet bool) (*coder.Preset, error) {
	if strings.EqualFold(name, "none") {
		return nil, nil
	}
	all, err := c.TemplateVersionPresets(ctx, version)
	if err != nil {
		return nil, err
	}
	items := []app.Item{{Label: "none", Note: "give the values one by one"}}
	initial := 0
	for i, p := range all {
		if p.Name == name {
			return &all[i], nil
		}
		items = append(items, app.Item{Label: p.Name, Note: p.Description})
		if p.Default {
			initial = i + 1
		}
	}
	switch {
	case name != "":
		return nil, coder.Errorf(coder.CodeNotFound, "this version has no preset %q", name)
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

// ReadValues reads a YAML file of names and values. What is not text becomes
// text: a list or map as JSON, as Terraform and parameters take it.
func ReadValues(path string) (map[string]string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	raw := map[string]any{}
	if err := yaml.Unmarshal(b, &raw); err != nil {
		return nil, app.Failure("%s is not YAML of the form name: value: %s", path, err)
	}
	values := make(map[string]string, len(raw))
	for k, v := range raw {
		if values[k], err = textOf(v); err != nil {
			return nil, app.Failure("%s: %s: %s", path, k, err)
		}
	}
	return values, nil
}
