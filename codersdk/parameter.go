package codersdk

import (
	"github.com/google/uuid"
)

// TemplateVersionParameter is an input of the workspaces of a template version.
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

// TemplateVersionParameterOption is one of the values that a parameter accepts.
type TemplateVersionParameterOption struct {
	Description string `json:"description"`
	Icon        string `json:"icon"`
	Name        string `json:"name"`
	Value       string `json:"value"`
}

// TemplateVersionVariable is a Terraform input variable of a template version.
type TemplateVersionVariable struct {
	DefaultValue string `json:"default_value"`
	Description  string `json:"description"`
	Name         string `json:"name"`
	Required     bool   `json:"required"`
	Sensitive    bool   `json:"sensitive"`
	Type         string `json:"type"`
	Value        string `json:"value"`
}

// IsSet reports whether the value must be passed to Terraform. Defaults are left
// to Terraform, because a default of null reads as an empty string here.
func (v TemplateVersionVariable) IsSet() bool { return v.Required || v.Value != v.DefaultValue }

// ValidationMonotonicOrder is the only direction in which a number may change.
type ValidationMonotonicOrder string

// Values of ValidationMonotonicOrder.
const (
	ValidationMonotonicOrderDecreasing ValidationMonotonicOrder = "decreasing"
	ValidationMonotonicOrderIncreasing ValidationMonotonicOrder = "increasing"
)

// ParameterFormType is the form control of a parameter.
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

// VariableValue is the value of a Terraform input variable.
type VariableValue struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// WorkspaceBuildParameter is the value of a parameter in a build.
type WorkspaceBuildParameter struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Preset is a named set of parameter values. Clients read capitalized field names.
type Preset struct {
	Default                  bool              `json:"Default"`
	Description              string            `json:"Description"`
	DesiredPrebuildInstances int64             `json:"DesiredPrebuildInstances"`
	Icon                     string            `json:"Icon"`
	ID                       uuid.UUID         `json:"ID"`
	Name                     string            `json:"Name"`
	Parameters               []PresetParameter `json:"Parameters"`
	// Prebuilds holds the settings that DesiredPrebuildInstances cannot express:
	// schedules, and the maximum age of prebuilt workspaces. Nil without prebuilds.
	Prebuilds *PresetPrebuilds `json:"prebuilds,omitempty"`
}

// StoredPreset is a Preset as stored in the database, with the field names that
// the queries use.
type StoredPreset struct {
	Default                  bool              `json:"default"`
	Description              string            `json:"description"`
	DesiredPrebuildInstances int64             `json:"desiredPrebuildInstances"`
	Icon                     string            `json:"icon"`
	ID                       uuid.UUID         `json:"id"`
	Name                     string            `json:"name"`
	Parameters               []PresetParameter `json:"parameters"`
	Prebuilds                *PresetPrebuilds  `json:"prebuilds,omitempty"`
}

// PresetParameter is one parameter value of a preset.
type PresetParameter struct {
	Name  string `json:"Name"`
	Value string `json:"Value"`
}

// Types of a parameter's value. Values are always text: a number in decimal,
// true or false, and a list as a JSON array of strings.
const (
	ParameterTypeString     = "string"
	ParameterTypeNumber     = "number"
	ParameterTypeBool       = "bool"
	ParameterTypeListString = "list(string)"
)
