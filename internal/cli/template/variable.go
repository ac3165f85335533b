package template

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/build"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/cli/terminal"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

// values returns the variables of --variables-file, overridden by --variable
// and --var.
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
		return nil, command.Failure("%s", err)
	}
	maps.Copy(values, given)
	return values, nil
}

func variableValues(values map[string]string) []codersdk.VariableValue {
	var out []codersdk.VariableValue
	for _, name := range slices.Sorted(maps.Keys(values)) {
		out = append(out, codersdk.VariableValue{Name: name, Value: values[name]})
	}
	return out
}

// reuseValues adds the values of the active version of t. Secret values are
// missing, because the server does not return them.
func reuseValues(ctx context.Context, c *codersdk.Client, t codersdk.Template, s *source, values map[string]string) error {
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

// askVariables prompts for the variables that had no value in an import.
func askVariables(ctx context.Context, a *command.Run, c *codersdk.Client, v codersdk.TemplateVersion, values map[string]string) error {
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
		return command.JobError(v.Job)
	}
	return nil
}
