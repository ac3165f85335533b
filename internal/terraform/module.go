package terraform

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/gohcl"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/internal/rule/templatesource"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/require"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/sourcetree"
)

// module is the information in a template's root directory that can be read
// without running Terraform.
type module struct {
	dir        string
	sources    map[string][]byte // by file name
	variables  []*provisioner.TemplateVariable
	parameters map[string]string // names of parameters by block label
	tagBlocks  []*hcl.Block
	backend    bool
	why        string // why `terraform init` is needed, "" if it is not
	problem    string // error in the source, "" for none
}

// maxSource is the largest file that is parsed as HCL, in bytes.
const maxSource = 4 << 20

// readModule reads the *.tf and *.tf.json files of a directory. Errors in the
// source are stored in problem.
func readModule(dir string) (*module, error) {
	m := &module{dir: dir, sources: map[string][]byte{}, parameters: map[string]string{}}
	names, err := sourceFiles(dir)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		m.problem = "the template has no .tf file in its top directory"
		return m, nil
	}
	parser := hclparse.NewParser()
	var diags hcl.Diagnostics
	var bodies []hcl.Body
	for _, name := range names {
		src, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, fmt.Errorf("read template: %w", err)
		}
		if len(src) > maxSource {
			m.problem = fmt.Sprintf("%s is larger than %d MiB", name, maxSource>>20)
			return m, nil
		}
		if sourcetree.TooDeep(src) {
			m.problem = name + " nests expressions too deeply"
			return m, nil
		}
		m.sources[name] = src
		parse := parser.ParseHCL
		if strings.HasSuffix(name, ".json") {
			parse = parser.ParseJSON
		}
		file, d := parse(src, name)
		diags = append(diags, d...)
		if file != nil {
			bodies = append(bodies, file.Body)
		}
	}
	if diags.HasErrors() {
		m.problem = diagnosticsText(diags)
		return m, nil
	}
	m.read(bodies)
	return m, nil
}

// sourceFiles returns the names of a directory's configuration files, overrides
// last.
func sourceFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read template: %w", err)
	}
	var names, overrides []string
	for _, e := range entries {
		name := e.Name()
		stem, ok := strings.CutSuffix(strings.TrimSuffix(name, ".json"), ".tf")
		switch {
		case e.IsDir() || !ok || strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~"):
		case stem == "override" || strings.HasSuffix(stem, "_override"):
			overrides = append(overrides, name)
		default:
			names = append(names, name)
		}
	}
	return append(names, overrides...), nil
}

// diagnosticsText returns the first errors, one per line, with file and line.
func diagnosticsText(diags hcl.Diagnostics) string {
	var out []string
	for _, d := range diags {
		if d.Severity != hcl.DiagError {
			continue
		}
		text := d.Summary
		if d.Detail != "" {
			text += ": " + d.Detail
		}
		if d.Subject != nil {
			text = fmt.Sprintf("%s:%d: %s", d.Subject.Filename, d.Subject.Start.Line, text)
		}
		if out = append(out, text); len(out) == maxDiagnostics {
			break
		}
	}
	return strings.Join(out, "\n")
}

// rootSchema contains every block that is read at the top level. Other blocks
// are left to Terraform.
func rootSchema() *hcl.BodySchema {
	return &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
		{Type: "terraform"}, {Type: "locals"}, {Type: "moved"}, {Type: "removed"},
		{Type: "variable", LabelNames: []string{"name"}},
		{Type: "output", LabelNames: []string{"name"}},
		{Type: "provider", LabelNames: []string{"name"}},
		{Type: "module", LabelNames: []string{"name"}},
		{Type: "resource", LabelNames: []string{"type", "name"}},
		{Type: "data", LabelNames: []string{"type", "name"}},
		{Type: "ephemeral", LabelNames: []string{"type", "name"}},
	}}
}

func (m *module) read(bodies []hcl.Body) {
	providers := map[string]string{} // source addresses by local name
	var used []string                // local names of providers in use
	for _, body := range bodies {
		content, diags := body.Content(rootSchema())
		if diags.HasErrors() {
			m.needInit("the template has blocks that only Terraform understands")
		}
		for _, b := range content.Blocks {
			switch b.Type {
			case "terraform":
				m.readSettings(b, providers)
			case "variable":
				m.readVariable(b)
			case "module":
				m.needInit("the template calls modules")
			case "provider":
				used = append(used, b.Labels[0])
			case "resource", "data", "ephemeral":
				used = append(used, require.ProviderOf(b))
				m.readBlock(b)
			}
		}
	}
	for name, source := range providers {
		if !builtIn(source) {
			m.needInit("the template needs the provider " + source)
		}
		used = slices.DeleteFunc(used, func(u string) bool { return u == name })
	}
	for _, name := range used {
		if name != "terraform" {
			m.needInit("the template needs the provider hashicorp/" + name)
		}
	}
}

func (m *module) needInit(why string) {
	if m.why == "" {
		m.why = why
	}
}

// builtIn reports whether a provider needs no installation.
func builtIn(source string) bool {
	switch strings.ToLower(source) {
	case "coder/coder", tofuAddress, "registry.terraform.io/coder/coder", "terraform.io/builtin/terraform":
		return true
	}
	return false
}

// readSettings reads a terraform block.
func (m *module) readSettings(b *hcl.Block, providers map[string]string) {
	content, _, _ := b.Body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
		{Type: "required_providers"}, {Type: "cloud"}, {Type: "backend", LabelNames: []string{"type"}},
	}})
	for _, inner := range content.Blocks {
		if inner.Type != "required_providers" {
			m.backend = true
			m.needInit("the template configures a backend")
			continue
		}
		attrs, _ := inner.Body.JustAttributes()
		for name, attr := range attrs {
			providers[name] = "hashicorp/" + name
			pairs, diags := hcl.ExprMap(attr.Expr)
			if diags.HasErrors() {
				continue
			}
			for _, p := range pairs {
				if hcl.ExprAsKeyword(p.Key) != "source" && literal(p.Key) != "source" {
					continue
				}
				if source := literal(p.Value); source != "" {
					providers[name] = source
				}
			}
		}
	}
}

func (m *module) readBlock(b *hcl.Block) {
	if b.Type != "data" {
		return
	}
	switch b.Labels[0] {
	case "coder_parameter":
		content, _, _ := b.Body.PartialContent(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "name"}}})
		if attr, ok := content.Attributes["name"]; ok {
			m.parameters[b.Labels[1]] = literal(attr.Expr)
		}
	case "coder_workspace_tags":
		m.tagBlocks = append(m.tagBlocks, b)
	}
}

// literal returns the text of an expression without references, or "".
func literal(e hcl.Expression) string {
	v, diags := e.Value(nil)
	if diags.HasErrors() {
		return ""
	}
	text, ok := primitiveText(v)
	if !ok {
		return ""
	}
	return text
}

// readVariable reads a variable block or its override.
func (m *module) readVariable(b *hcl.Block) {
	content, _, _ := b.Body.PartialContent(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{
		{Name: "type"}, {Name: "default"}, {Name: "description"}, {Name: "sensitive"},
	}})
	i := slices.IndexFunc(m.variables, func(v *provisioner.TemplateVariable) bool { return v.GetName() == b.Labels[0] })
	if i < 0 {
		i = len(m.variables)
		m.variables = append(m.variables, &provisioner.TemplateVariable{Name: b.Labels[0], Required: true})
	}
	v := m.variables[i]
	if attr, ok := content.Attributes["description"]; ok {
		gohcl.DecodeExpression(attr.Expr, nil, &v.Description)
	}
	if attr, ok := content.Attributes["sensitive"]; ok {
		gohcl.DecodeExpression(attr.Expr, nil, &v.Sensitive)
	}
	if attr, ok := content.Attributes["type"]; ok {
		v.Type = strings.Trim(m.text(attr.Expr), `"`)
	}
	if attr, ok := content.Attributes["default"]; ok {
		v.Required = false
		value, diags := attr.Expr.Value(nil)
		if diags.HasErrors() {
			m.problem = diagnosticsText(diags)
			return
		}
		if v.Type == "" {
			v.Type = typeName(value.Type())
		}
		v.DefaultValue = valueText(value)
	}
	if v.Type == "" {
		v.Type = "string"
	}
}

// text returns an expression as written in its file.
func (m *module) text(e hcl.Expression) string {
	r := e.Range()
	return string(r.SliceBytes(m.sources[r.Filename]))
}

func typeName(t cty.Type) string {
	switch t {
	case cty.String, cty.Number, cty.Bool:
		return t.FriendlyName()
	}
	return "any"
}

// valueText returns a value as users write it: a primitive bare, others as
// JSON.
func valueText(v cty.Value) string {
	if text, ok := primitiveText(v); ok {
		return text
	}
	if v.IsNull() || !v.IsWhollyKnown() {
		return ""
	}
	b, err := ctyjson.Marshal(v, v.Type())
	if err != nil {
		return ""
	}
	return string(b)
}

// mentions reports whether any source file, including modules, contains one of
// the words.
func (m *module) mentions(words ...string) bool {
	found := errors.New("found")
	err := filepath.WalkDir(m.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !templatesource.IsConfiguration(path) {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return nil
		}
		for _, w := range words {
			if bytes.Contains(src, []byte(w)) {
				return found
			}
		}
		return nil
	})
	return err != nil
}

// writeVariables writes the values of variables for Terraform, with their
// types.
func (s *session) writeVariables(values []*provisioner.VariableValue) error {
	vars := map[string]json.RawMessage{}
	for _, v := range values {
		i := slices.IndexFunc(s.module.variables, func(d *provisioner.TemplateVariable) bool { return d.GetName() == v.GetName() })
		if i < 0 {
			continue // from an earlier version of the template
		}
		raw, err := variableJSON(s.module.variables[i].GetType(), v.GetValue())
		if err != nil {
			return &templateError{fmt.Sprintf("the value of variable %q does not match its type %s: %v", v.GetName(), s.module.variables[i].GetType(), err)}
		}
		vars[v.GetName()] = raw
	}
	b, err := json.Marshal(vars)
	if err != nil {
		return err
	}
	if err := os.WriteFile(s.file(variablesFile), b, 0o600); err != nil {
		return fmt.Errorf("write variables: %w", err)
	}
	return nil
}

const variablesFile = "coder.tfvars.json"
