package parametervalue

import "github.com/seed-2a7f8fe7/coder/codersdk"

// Preview returns the form's view of a parameter. Its value is the input, or the
// default without one. Diagnostics report a value that the parameter rejects.
func Preview(p codersdk.TemplateVersionParameter, order int, input *string) codersdk.PreviewParameter {
	out := codersdk.PreviewParameter{
		Name: p.Name, DisplayName: p.DisplayName, Description: p.Description, Icon: p.Icon, Type: p.Type, FormType: formType(p), Order: int64(order),
		Mutable: p.Mutable, Ephemeral: p.Ephemeral, Required: p.Required, Diagnostics: []codersdk.FriendlyDiagnostic{},
		Options: []codersdk.PreviewParameterOption{}, Validations: []codersdk.PreviewParameterValidation{},
	}
	for _, o := range p.Options {
		out.Options = append(out.Options, codersdk.PreviewParameterOption{
			Name: o.Name, Description: o.Description, Icon: o.Icon, Value: codersdk.NullHCLString{Valid: true, Value: o.Value},
		})
	}
	if p.ValidationRegex != "" || p.ValidationMin != nil || p.ValidationMax != nil || p.ValidationMonotonic != "" {
		out.Validations = append(out.Validations, codersdk.PreviewParameterValidation{
			ValidationError: p.ValidationError, ValidationMin: p.ValidationMin, ValidationMax: p.ValidationMax,
			ValidationMonotonic: p.ValidationMonotonic, ValidationRegex: p.ValidationRegex,
		})
	}
	if !p.Required {
		out.DefaultValue = codersdk.NullHCLString{Valid: true, Value: p.DefaultValue}
		out.Value = out.DefaultValue
	}
	if input != nil {
		out.Value = codersdk.NullHCLString{Valid: true, Value: *input}
	}
	switch err := Check(p, out.Value.Value); {
	case !out.Value.Valid:
		out.Diagnostics = append(out.Diagnostics, codersdk.FriendlyDiagnostic{
			Severity: codersdk.DiagnosticSeverityError, Summary: "A value is required", Detail: "This parameter has no default.",
			Extra: codersdk.DiagnosticExtra{Code: "required"},
		})
	case err != nil:
		out.Diagnostics = append(out.Diagnostics, codersdk.FriendlyDiagnostic{
			Severity: codersdk.DiagnosticSeverityError, Summary: "The value is not valid", Detail: err.Error(),
		})
	}
	return out
}

// Definition returns the definition of the parameter that a form shows.
func Definition(p codersdk.PreviewParameter) codersdk.TemplateVersionParameter {
	out := codersdk.TemplateVersionParameter{
		Name: p.Name, DisplayName: p.DisplayName, Description: p.Description, DescriptionPlaintext: p.Description, Icon: p.Icon, Type: p.Type,
		FormType: string(p.FormType), Mutable: p.Mutable, Ephemeral: p.Ephemeral, Required: p.Required, DefaultValue: p.DefaultValue.Value,
		Options: []codersdk.TemplateVersionParameterOption{},
	}
	for _, o := range p.Options {
		out.Options = append(out.Options, codersdk.TemplateVersionParameterOption{Name: o.Name, Description: o.Description, Icon: o.Icon, Value: o.Value.Value})
	}
	for _, v := range p.Validations {
		out.ValidationError, out.ValidationMin, out.ValidationMax = v.ValidationError, v.ValidationMin, v.ValidationMax
		out.ValidationMonotonic, out.ValidationRegex = v.ValidationMonotonic, v.ValidationRegex
	}
	return out
}

// formType returns the default control of a parameter.
func formType(p codersdk.TemplateVersionParameter) codersdk.ParameterFormType {
	switch {
	case p.FormType != "":
		return codersdk.ParameterFormType(p.FormType)
	case p.Type == codersdk.ParameterTypeListString && len(p.Options) > 0:
		return codersdk.ParameterFormTypeMultiSelect
	case p.Type == codersdk.ParameterTypeListString:
		return codersdk.ParameterFormTypeTagSelect
	case len(p.Options) > 0:
		return codersdk.ParameterFormTypeRadio
	case p.Type == codersdk.ParameterTypeBool:
		return codersdk.ParameterFormTypeCheckbox
	}
	return codersdk.ParameterFormTypeInput
}
