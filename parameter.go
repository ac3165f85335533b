package coder

import (
	"github.com/google/uuid"
)

// TemplateVersionParameter is an input that a workspace of a version takes.
type TemplateVersionParameter struct {
	DefaultValue         string                           `json:"default_value"`
	Description          string                           `json:"description"`
	DescriptionPlaintext string                           `json:"description_plaintext"`
	DisplayName          string                           `json:"display_name"`
	Ephemeral            bool                             `json:"ephemeral"`
	FormType             string                           `json:"form_type"`
	Icon                 string                           `json:"icon"`
	Mutable              bool                             `json:"mutable"`
	Name                 string                           `json:"name"`
	Options              []TemplateVersionParameterOption `json:"options"`
	Required             bool                             `json:"required"`
	Type                 string                           `json:"type"`
	ValidationError      string                           `json:"validation_error"`
	ValidationMax        *int32                           `json:"validation_max,omitempty"`
	ValidationMin        *int32                           `json:"validation_min,omitempty"`
	ValidationMonotonic  ValidationMonotonicOrder         `json:"validation_monotonic"`
	ValidationRegex      string                           `json:"validation_regex"`
}

// TemplateVersionParameterOption is one of the values that a parameter may take.
type TemplateVersionParameterOption struct {
	Description string `json:"description"`
	Icon        string `json:"icon"`
	Name        string `json:"name"`
	Value       string `json:"value"`
}

// TemplateVersionVariable is a Terraform input variable of a version.
type TemplateVersionVariable struct {
	DefaultValue string `json:"default_value"`
	Description  string `json:"description"`
	Name         string `json:"name"`
	Required     bool   `json:"required"`
	Sensitive    bool   `json:"sensitive"`
	Type         string `json:"type"`
	Value        string `json:"value"`
}

// IsSet says whether the value must be handed to Terraform. A default is left
// to Terraform, which knows it better: one of null reads here as an empty text.
func (v TemplateVersionVariable) IsSet() bool { return v.Required || v.Value != v.DefaultValue }

// ValidationMonotonicOrder says in which direction alone a number may change.
type ValidationMonotonicOrder string

// Values of ValidationMonotonicOrder.
const (
	ValidationMonotonicOrderDecreasing ValidationMonotonicOrder = "decreasing"
	ValidationMonotonicOrderIncreasing ValidationMonotonicOrder = "increasing"
)

// ParameterFormType is the control that a form shows for a parameter.
type ParameterFormType string

// Values of ParameterFormType.
const (
	ParameterFormTypeDefault     ParameterFormType = ""
	ParameterFormTypeCheckbox    ParameterFormType = "checkbox"
	ParameterFormTypeDropdown    ParameterFormType = "dropdown"
	ParameterFormTypeError       ParameterFormType = "error"
	ParameterFormTypeInput       ParameterFormType = "input"
	ParameterFormTypeMultiSelect ParameterFormType = "multi-select"
	ParameterFormTypeRadio       ParameterFormType = "radio"
	ParameterFormTypeSlider      ParameterFormType = "slider"
	ParameterFormTypeSwitch      ParameterFormType = "switch"
	ParameterFormTypeTagSelect   ParameterFormType = "tag-select"
	ParameterFormTypeTextarea    ParameterFormType = "textarea"
)

// VariableValue gives a Terraform input variable its value.
type VariableValue struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// WorkspaceBuildParameter is the value of a parameter in a build.
type WorkspaceBuildParameter struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Preset is a named set of parameter values.
type Preset struct {
	Default                  bool              `json:"default"`
	Description              string            `json:"description"`
	DesiredPrebuildInstances int64             `json:"desiredPrebuildInstances"`
	Icon                     string            `json:"icon"`
	ID                       uuid.UUID         `json:"id"`
	Name                     string            `json:"name"`
	Parameters               []PresetParameter `json:"parameters"`
	// Prebuilds is what DesiredPrebuildInstances leaves out: schedules, and how
	// old prebuilt workspaces may become. Nil where none are kept.
	Prebuilds *PresetPrebuilds `json:"prebuilds,omitempty"`
}

// PresetParameter is one parameter value of a preset.
type PresetParameter struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}
