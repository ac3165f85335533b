package template

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
	"github.com/seed-2a7f8fe7/coder/internal/cli/build"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
	"github.com/seed-2a7f8fe7/coder/internal/cli/terminal"
)

// values are the variables of --variables-file, over which those of
// --variable and --var go.
func (s *source) values() (map[string]string, error) {
	values := map[string]string{}
	if s.variablesFile != "" {
		var err error
		if values, err = build.ReadValues(s.variablesFile); err != nil {
			return nil, err
		}
	}
	given, err := option.Pairs("--variable", append(s.variables, s.vars...))
	if err != nil {
		return nil, app.Failure("%s", err)
	}
	maps.Copy(values, given)
	return values, nil
}

func variableValues(values map[string]string) []coder.VariableValue {
	var out []coder.VariableValue
	for _, name := range slices.Sorted(maps.Keys(values)) {
		out = append(out, coder.VariableValue{Name: name, Value: values[name]})
	}
	return out
}

// reuseValues adds the values that the active version of t has, except
// secret ones, which the server does not show.
func reuseValues(ctx context.Context, c *client.Client, t coder.Template, s *source, values map[string]string) error {
	if t.ID == uuid.Nil || s.alwaysPrompt {
		return nil
	}
	before, err := c.TemplateVersionVariables(ctx, t.ActiveVersionID)
	if err != nil {
		return err
	}
	for _, v := range before {
		if _, given := values[v.Name]; !given && !v.Sensitive && v.Value != "" && v.Value != v.DefaultValue {
			values[v.Name] = v.Value
		}
	}
	return nil
}

// askVariables asks for the variables that an import found without a value.
func askVariables(ctx context.Context, a *app.Run, c *client.Client, v coder.TemplateVersion, values map[string]string) error {
	all, err := c.TemplateVersionVariables(ctx, v.ID)
	if err != nil {
		return err
	}
	asked := false
	for _, variable := range all {
		if _, given := values[variable.Name]; given || !variable.Required {
			continue
		}
		asked = true
		question := "Variable " + variable.Name
		if variable.Description != "" {
			question += " (" + terminal.OneLine(variable.Description) + ")"
		}
		instead := fmt.Sprintf("use --variable %s=<value>", variable.Name)
		ask := func() (string, error) { return a.Ask(question+":", "", instead, nil) }
		if variable.Sensitive {
			ask = func() (string, error) { return a.AskSecret(question+":", instead) }
		}
		if values[variable.Name], err = ask(); err != nil {
			return err
		}
	}
	if !asked {
		return app.JobError(v.Job)
	}
	return nil
}
