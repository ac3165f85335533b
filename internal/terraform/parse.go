package terraform

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
)

// maxReadme is the number of bytes of a README that are stored.
const maxReadme = 1 << 20

// parseComplete returns what the server needs before any plan: variables,
// workspace tags and the README.
func parseComplete(m *module) *provisioner.ParseComplete {
	done := &provisioner.ParseComplete{Error: m.problem, TemplateVariables: m.variables}
	if done.Error != "" {
		return done
	}
	var err error
	if done.WorkspaceTags, err = m.tags(); err != nil {
		done.Error = err.Error()
	}
	for _, name := range []string{"README.md", "readme.md", "Readme.md"} {
		readme, err := os.ReadFile(filepath.Join(m.dir, name))
		if err == nil {
			done.Readme = readme[:min(len(readme), maxReadme)]
			break
		}
	}
	return done
}

// variableJSON converts the text that a user entered for a variable to JSON of
// the declared type. Terraform converts primitive types. For other types the
// text is parsed as JSON or as HCL, as -var does.
func variableJSON(typ, text string) (json.RawMessage, error) {
	switch typ {
	case "string", "number", "bool", "", "any":
		return json.Marshal(text)
	}
	if json.Valid([]byte(text)) {
		return json.RawMessage(text), nil
	}
	expr, diags := hclsyntax.ParseExpression([]byte(text), "value", hcl.InitialPos)
	if diags.HasErrors() {
		return nil, errors.New("it is neither JSON nor an HCL literal")
	}
	v, diags := expr.Value(nil)
	if diags.HasErrors() {
		return nil, errors.New("it is not a literal")
	}
	return ctyjson.Marshal(v, v.Type())
}

// primitiveText returns a known string, number or bool as text.
func primitiveText(v cty.Value) (string, bool) {
	if v.IsNull() || !v.IsKnown() || !v.Type().IsPrimitiveType() {
		return "", false
	}
	switch v.Type() {
	case cty.String:
		return v.AsString(), true
	case cty.Number:
		if e := v.AsBigFloat().MantExp(nil); e > 1024 || e < -1024 {
			return v.AsBigFloat().Text('g', -1), true
		}
		return v.AsBigFloat().Text('f', -1), true
	}
	if v.True() {
		return "true", true
	}
	return "false", true
}
