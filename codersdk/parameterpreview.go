package codersdk

import (
	"github.com/google/uuid"
)

// DynamicParametersRequest requests the form of a version's parameters with some
// values filled in.
type DynamicParametersRequest struct {
	ID      int               `json:"id"` // copied to the response
	Inputs  map[string]string `json:"inputs"`
	OwnerID uuid.UUID         `json:"owner_id"` // owner of the new workspace; Nil means the caller
}

// DynamicParametersResponse is the form: the parameters in their order.
type DynamicParametersResponse struct {
	Diagnostics []FriendlyDiagnostic `json:"diagnostics"`
	ID          int                  `json:"id"`
	Parameters  []PreviewParameter   `json:"parameters"`
}

// PreviewParameter is one parameter of a form, with its value and the problems of
// that value.
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

// NullHCLString is a string, or null if it is not valid.
type NullHCLString struct {
	Valid bool   `json:"valid"`
	Value string `json:"value"`
}

// PreviewParameterOption is one of the values that a parameter accepts.
type PreviewParameterOption struct {
	Description string        `json:"description"`
	Icon        string        `json:"icon"`
	Name        string        `json:"name"`
	Value       NullHCLString `json:"value"`
}

// PreviewParameterStyling is the styling of a form field.
type PreviewParameterStyling struct {
	Disabled    bool   `json:"disabled"`
	Label       string `json:"label"`
	MaskInput   bool   `json:"mask_input"`
	Placeholder string `json:"placeholder"`
}

// PreviewParameterValidation is a validation rule of a parameter.
type PreviewParameterValidation struct {
	ValidationError     string                   `json:"validation_error"`
	ValidationMax       *int32                   `json:"validation_max,omitempty"`
	ValidationMin       *int32                   `json:"validation_min,omitempty"`
	ValidationMonotonic ValidationMonotonicOrder `json:"validation_monotonic"`
	ValidationRegex     string                   `json:"validation_regex"`
}

// FriendlyDiagnostic is a message for the user who fills in a form.
type FriendlyDiagnostic struct {
	Detail   string             `json:"detail"`
	Extra    DiagnosticExtra    `json:"extra"`
	Severity DiagnosticSeverity `json:"severity"`
	Summary  string             `json:"summary"`
}

// DiagnosticExtra holds a code for programs: "required" for a missing value.
type DiagnosticExtra struct {
	Code string `json:"code"`
}

// DiagnosticSeverity is the severity of a diagnostic.
type DiagnosticSeverity string

// Values of DiagnosticSeverity.
const (
	DiagnosticSeverityError   DiagnosticSeverity = "error"
	DiagnosticSeverityWarning DiagnosticSeverity = "warning"
)

// UserParameter is the value that a user entered last for a parameter.
type UserParameter struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}
