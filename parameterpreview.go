package coder

import (
	"github.com/google/uuid"
)

// DynamicParametersRequest asks what a form of parameters is like with some
// values filled in.
type DynamicParametersRequest struct {
	ID      int               `json:"id"` // comes back in the answer
	Inputs  map[string]string `json:"inputs"`
	OwnerID uuid.UUID         `json:"owner_id"` // of the workspace to be; Nil: who asks
}

// DynamicParametersResponse is the form: the parameters in their order.
type DynamicParametersResponse struct {
	Diagnostics []FriendlyDiagnostic `json:"diagnostics"`
	ID          int                  `json:"id"`
	Parameters  []PreviewParameter   `json:"parameters"`
}

// PreviewParameter is one parameter of a form, with its value and what is
// wrong with it.
type PreviewParameter struct {
	DefaultValue NullHCLString                `json:"default_value"`
	Description  string                       `json:"description"`
	Diagnostics  []FriendlyDiagnostic         `json:"diagnostics"`
	DisplayName  string                       `json:"display_name"`
	Ephemeral    bool                         `json:"ephemeral"`
	FormType     ParameterFormType            `json:"form_type"`
	Icon         string                       `json:"icon"`
	Mutable      bool                         `json:"mutable"`
	Name         string                       `json:"name"`
	Options      []PreviewParameterOption     `json:"options"`
	Order        int64                        `json:"order"`
	Required     bool                         `json:"required"`
	Styling      PreviewParameterStyling      `json:"styling"`
	Type         string                       `json:"type"`
	Validations  []PreviewParameterValidation `json:"validations"`
	Value        NullHCLString                `json:"value"`
}

// NullHCLString is a text, or nothing when it is not valid.
type NullHCLString struct {
	Valid bool   `json:"valid"`
	Value string `json:"value"`
}

// PreviewParameterOption is one of the values that a parameter may take.
type PreviewParameterOption struct {
	Description string        `json:"description"`
	Icon        string        `json:"icon"`
	Name        string        `json:"name"`
	Value       NullHCLString `json:"value"`
}

// PreviewParameterStyling is how a form shows a parameter.
type PreviewParameterStyling struct {
	Disabled    bool   `json:"disabled"`
	Label       string `json:"label"`
	MaskInput   bool   `json:"mask_input"`
	Placeholder string `json:"placeholder"`
}

// PreviewParameterValidation is what a value is held to.
type PreviewParameterValidation struct {
	ValidationError     string                   `json:"validation_error"`
	ValidationMax       *int32                   `json:"validation_max,omitempty"`
	ValidationMin       *int32                   `json:"validation_min,omitempty"`
	ValidationMonotonic ValidationMonotonicOrder `json:"validation_monotonic"`
	ValidationRegex     string                   `json:"validation_regex"`
}

// FriendlyDiagnostic is something to tell whoever fills in a form.
type FriendlyDiagnostic struct {
	Detail   string             `json:"detail"`
	Extra    DiagnosticExtra    `json:"extra"`
	Severity DiagnosticSeverity `json:"severity"`
	Summary  string             `json:"summary"`
}

// DiagnosticExtra has a word for programs: "required" of a value that is missing.
type DiagnosticExtra struct {
	Code string `json:"code"`
}

// DiagnosticSeverity says how bad it is.
type DiagnosticSeverity string

// Values of DiagnosticSeverity.
const (
	DiagnosticSeverityError   DiagnosticSeverity = "error"
	DiagnosticSeverityWarning DiagnosticSeverity = "warning"
)

// Preview gives the form's view of a parameter: its value is the input, or
// without one the default, and a value that it does not take is told.
func (p TemplateVersionParameter) Preview(order int, input *string) PreviewParameter {
	out := PreviewParameter{
		Name: p.Name, DisplayName: p.DisplayName, Description: p.Description, Icon: p.Icon, Type: p.Type, FormType: p.formType(), Order: int64(order),
		Mutable: p.Mutable, Ephemeral: p.Ephemeral, Required: p.Required, Diagnostics: []FriendlyDiagnostic{},
		Options: []PreviewParameterOption{}, Validations: []PreviewParameterValidation{},
	}
	for _, o := range p.Options {
		out.Options = append(out.Options, PreviewParameterOption{Name: o.Name, Description: o.Description, Icon: o.Icon, Value: NullHCLString{true, o.Value}})
	}
	if p.ValidationRegex != "" || p.ValidationMin != nil || p.ValidationMax != nil || p.ValidationMonotonic != "" {
		out.Validations = append(out.Validations, PreviewParameterValidation{
			ValidationError: p.ValidationError, ValidationMin: p.ValidationMin, ValidationMax: p.ValidationMax,
			ValidationMonotonic: p.ValidationMonotonic, ValidationRegex: p.ValidationRegex,
		})
	}
	if !p.Required {
		out.DefaultValue = NullHCLString{true, p.DefaultValue}
		out.Value = out.DefaultValue
	}
	if input != nil {
		out.Value = NullHCLString{true, *input}
	}
	switch err := p.CheckValue(out.Value.Value); {
	case !out.Value.Valid:
		out.Diagnostics = append(out.Diagnostics, FriendlyDiagnostic{
			Severity: DiagnosticSeverityError, Summary: "A value is needed", Detail: "This parameter has no default.", Extra: DiagnosticExtra{"required"},
		})
	case err != nil:
		out.Diagnostics = append(out.Diagnostics, FriendlyDiagnostic{Severity: DiagnosticSeverityError, Summary: "The value does not fit", Detail: err.Error()})
	}
	return out
}

// Definition gives the parameter that a form shows.
func (p PreviewParameter) Definition() TemplateVersionParameter {
	out := TemplateVersionParameter{
		Name: p.Name, DisplayName: p.DisplayName, Description: p.Description, DescriptionPlaintext: p.Description, Icon: p.Icon, Type: p.Type,
		FormType: string(p.FormType), Mutable: p.Mutable, Ephemeral: p.Ephemeral, Required: p.Required, DefaultValue: p.DefaultValue.Value,
		Options: []TemplateVersionParameterOption{},
	}
	for _, o := range p.Options {
		out.Options = append(out.Options, TemplateVersionParameterOption{Name: o.Name, Description: o.Description, Icon: o.Icon, Value: o.Value.Value})
	}
	for _, v := range p.Validations {
		out.ValidationError, out.ValidationMin, out.ValidationMax = v.ValidationError, v.ValidationMin, v.ValidationMax
		out.ValidationMonotonic, out.ValidationRegex = v.ValidationMonotonic, v.ValidationRegex
	}
	return out
}

// formType gives the control for a parameter that names none.
func (p TemplateVersionParameter) formType() ParameterFormType {
	switch {
	case p.FormType != "":
		return ParameterFormType(p.FormType)
	case p.Type == ParameterTypeListString && len(p.Options) > 0:
		return ParameterFormTypeMultiSelect
	case p.Type == ParameterTypeListString:
		return ParameterFormTypeTagSelect
	case len(p.Options) > 0:
		return ParameterFormTypeRadio
	case p.Type == ParameterTypeBool:
		return ParameterFormTypeCheckbox
	}
	return ParameterFormTypeInput
}

// UserParameter is the value that somebody used last for a parameter.
type UserParameter struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}
