// Package secretfile reads files with user secrets: variables as shells and Compose read
// them, JSON and YAML.
package secretfile

import (
	"bytes"
	"encoding/json"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// maxContent is the largest file that is imported. Every file with secrets within the limits of a user fits.
const maxContent = 512 << 10

// Parse returns the secrets of a file. Errors name the secret or the line, and never quote the file.
func Parse(format codersdk.UserSecretFormat, content string) (out []codersdk.CreateUserSecretRequest, err error) {
	if len(content) > maxContent {
		return nil, codersdk.Invalid("content", "has %d bytes; a file can have at most %d", len(content), maxContent)
	}
	switch format {
	case codersdk.UserSecretFormatEnv:
		out, err = parseEnv(content)
	case codersdk.UserSecretFormatJSON:
		out, err = parseJSON(content)
	case codersdk.UserSecretFormatYAML:
		out, err = parseYAML(content)
	default:
		return nil, codersdk.Invalid("format", "must be env, json or yaml")
	}
	if err == nil && len(out) == 0 {
		err = codersdk.Invalid("content", "contains no secret")
	}
	return out, err
}

// variableSecret returns the secret for a name that a file gives only a value: a variable of that name.
func variableSecret(name, value string) codersdk.CreateUserSecretRequest {
	return codersdk.CreateUserSecretRequest{Name: name, Value: value, EnvName: name}
}

// fields are the members of a secret that a JSON or YAML file describes.
type fields struct {
	Value       string `json:"value" yaml:"value"`
	Description string `json:"description" yaml:"description"`
	EnvName     string `json:"env_name" yaml:"env_name"`
	FilePath    string `json:"file_path" yaml:"file_path"`
	Enabled     *bool  `json:"enabled" yaml:"enabled"`
}

func (f fields) secret(name string) codersdk.CreateUserSecretRequest {
	return codersdk.CreateUserSecretRequest{
		Name: name, Value: f.Value, Description: f.Description, EnvName: f.EnvName, FilePath: f.FilePath, Enabled: f.Enabled,
	}
}

// notSecret is the error for a member of a JSON or YAML file that is neither a value nor a description of one.
func notSecret(name string) error {
	return codersdk.Invalid("content", "%q must be a text, or an object with value, description, env_name, file_path and enabled", name)
}

// parseJSON reads an object with one member for each secret.
func parseJSON(content string) (out []codersdk.CreateUserSecretRequest, err error) {
	dec := json.NewDecoder(strings.NewReader(content))
	broken := func() error {
		line := 1 + strings.Count(content[:min(int(dec.InputOffset()), len(content))], "\n")
		return codersdk.Invalid("content", "is not a JSON object; see line %d", line)
	}
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, broken()
	}
	for dec.More() {
		key, err := dec.Token()
		name, ok := key.(string)
		if err != nil || !ok {
			return nil, broken()
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, broken()
		}
		s, err := jsonSecret(name, raw)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	if _, err := dec.Token(); err != nil || dec.More() {
		return nil, broken()
	}
	return out, nil
}

func jsonSecret(name string, raw json.RawMessage) (codersdk.CreateUserSecretRequest, error) {
	switch raw[0] {
	case '"':
		var value string
		if json.Unmarshal(raw, &value) != nil {
			return codersdk.CreateUserSecretRequest{}, notSecret(name)
		}
		return variableSecret(name, value), nil
	case '{':
		var f fields
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.DisallowUnknownFields()
		if dec.Decode(&f) != nil {
			return codersdk.CreateUserSecretRequest{}, notSecret(name)
		}
		return f.secret(name), nil
	case '[', 'n': // a list, null
		return codersdk.CreateUserSecretRequest{}, notSecret(name)
	}
	return variableSecret(name, string(raw)), nil // a number or a boolean, as it is written
}

// parseYAML reads a mapping with one entry for each secret. Aliases are refused.
func parseYAML(content string) (out []codersdk.CreateUserSecretRequest, err error) {
	var doc yaml.Node
	dec := yaml.NewDecoder(strings.NewReader(content))
	if dec.Decode(&doc) != nil || len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, codersdk.Invalid("content", "is not a YAML mapping of names to values")
	}
	pairs := doc.Content[0].Content
	for i := 0; i+1 < len(pairs); i += 2 {
		name, node := pairs[i].Value, pairs[i+1]
		switch {
		case pairs[i].Kind != yaml.ScalarNode:
			return nil, codersdk.Invalid("content", "is not a YAML mapping of names to values; see line %d", pairs[i].Line)
		case node.Kind == yaml.ScalarNode && node.Tag != "!!null":
			out = append(out, variableSecret(name, node.Value))
		case node.Kind == yaml.MappingNode:
			var f fields
			if !onlyFields(node) || node.Decode(&f) != nil {
				return nil, notSecret(name)
			}
			out = append(out, f.secret(name))
		default:
			return nil, notSecret(name)
		}
	}
	return out, nil
}

// onlyFields reports whether a mapping has no other keys than the fields of a secret, and only scalars.
func onlyFields(node *yaml.Node) bool {
	for i := 0; i+1 < len(node.Content); i += 2 {
		switch node.Content[i].Value {
		case "value", "description", "env_name", "file_path", "enabled":
		default:
			return false
		}
		if node.Content[i+1].Kind != yaml.ScalarNode {
			return false
		}
	}
	return true
}
