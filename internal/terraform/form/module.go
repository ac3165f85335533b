package form

import (
	"path"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/seed-2a7f8fe7/coder/internal/terraform/sourcetree"
)

// maxBlocks bounds the locals, parameters, variables, outputs and calls of a module together.
const maxBlocks = 2000

// module is the parsed source of a template or of a module that it calls.
type module struct {
	variables  map[string]variable
	locals     map[string]hcl.Expression
	outputs    map[string]hcl.Expression // nil for a sensitive one
	parameters []block
	owners     map[string]bool // labels of data "coder_workspace_owner"
	workspaces map[string]bool // labels of data "coder_workspace"
	calls      []*call
	asks       bool // it or a module that it calls may have parameters
	dynamic    bool // they depend on anything but the source
}

// block is one coder_parameter.
type block struct {
	label   string
	content *hcl.BodyContent
}

// variable is an input of a module.
type variable struct {
	constraint cty.Type
	defaults   *typeexpr.Defaults // of optional attributes
	fallback   cty.Value          // if no value is given; unknown without a default
	notNull    bool               // null means the default
	sensitive  bool
}

// call is a module block.
type call struct {
	label          string
	count, forEach hcl.Expression
	inputs         hcl.Attributes
	module         *module // nil if it cannot be read
}

// load parses the module in a directory, and the modules that it calls. The key is the path of
// calls to it. It returns nil if the module cannot be read.
func (t *tree) load(dir, key string, nesting int) *module {
	files, readable := t.of(dir)
	if !readable || nesting > maxNesting {
		return nil
	}
	m := &module{
		variables: map[string]variable{}, locals: map[string]hcl.Expression{}, outputs: map[string]hcl.Expression{},
		owners: map[string]bool{}, workspaces: map[string]bool{},
	}
	parser := hclparse.NewParser()
	for _, file := range files {
		if sourcetree.TooDeep(file.text) {
			return nil
		}
		parsed, diags := parser.ParseHCL(file.text, file.name)
		if diags.HasErrors() {
			return nil
		}
		m.read(parsed.Body)
	}
	if len(m.locals)+len(m.parameters)+len(m.variables)+len(m.outputs)+len(m.calls) > maxBlocks {
		return nil
	}
	m.asks = len(m.parameters) > 0
	for _, b := range m.parameters {
		m.dynamic = m.dynamic || b.changes()
	}
	for _, c := range m.calls {
		if t.calls++; t.calls > maxModules {
			return nil
		}
		childKey := strings.TrimPrefix(key+"."+c.label, ".")
		if at, known := t.find(dir, childKey, c.source()); known {
			c.module = t.load(at, childKey, nesting+1)
		}
		m.asks = m.asks || c.module == nil || c.module.asks
		if c.module != nil {
			repeated := c.count != nil || c.forEach != nil
			m.dynamic = m.dynamic || c.module.dynamic || repeated && c.module.asks
		}
	}
	return m
}

// find returns the directory of a module that the module in dir calls.
func (t *tree) find(dir, key, address string) (string, bool) {
	if at, known := t.dirs[key]; known {
		return at, true
	}
	if strings.HasPrefix(address, "./") || strings.HasPrefix(address, "../") {
		return path.Join(dir, address), true
	}
	return "", false
}

// source returns the address of the module, "" if it is not a literal.
func (c *call) source() string {
	a := c.inputs["source"]
	if a == nil {
		return ""
	}
	v, diags := a.Expr.Value(nil)
	if diags.HasErrors() {
		return ""
	}
	s, _ := text(v)
	return s
}

// read takes the blocks of one file.
func (m *module) read(body hcl.Body) {
	content, _, _ := body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
		{Type: "locals"}, {Type: "variable", LabelNames: []string{"name"}}, {Type: "output", LabelNames: []string{"name"}},
		{Type: "module", LabelNames: []string{"name"}}, {Type: "data", LabelNames: []string{"type", "name"}},
	}})
	for _, b := range content.Blocks {
		switch b.Type {
		case "variable":
			m.variables[b.Labels[0]] = readVariable(b.Body)
		case "locals":
			attributes, _ := b.Body.JustAttributes()
			for name, a := range attributes {
				m.locals[name] = a.Expr
			}
		case "output":
			content, _, _ := b.Body.PartialContent(&hcl.BodySchema{Attributes: attributes("value", "sensitive")})
			m.outputs[b.Labels[0]] = nil
			if a := content.Attributes["value"]; a != nil && !isTrue(content.Attributes["sensitive"]) {
				m.outputs[b.Labels[0]] = a.Expr
			}
		case "module":
			inputs, _ := b.Body.JustAttributes()
			c := &call{label: b.Labels[0], inputs: inputs}
			if a := inputs["count"]; a != nil {
				c.count = a.Expr
			}
			if a := inputs["for_each"]; a != nil {
				c.forEach = a.Expr
			}
			m.calls = append(m.calls, c)
		case "data":
			m.readData(b)
		}
	}
}

func (m *module) readData(b *hcl.Block) {
	switch label := b.Labels[1]; b.Labels[0] {
	case "coder_parameter":
		content, _, _ := b.Body.PartialContent(parameterSchema())
		m.parameters = append(m.parameters, block{label, content})
	case "coder_workspace_owner":
		m.owners[label] = true
	case "coder_workspace":
		m.workspaces[label] = true
	}
}

// readVariable reads a variable block. Terraform refuses what is not literal in it.
func readVariable(body hcl.Body) variable {
	content, _, _ := body.PartialContent(&hcl.BodySchema{Attributes: attributes("type", "default", "nullable", "sensitive")})
	v := variable{constraint: cty.DynamicPseudoType, fallback: cty.DynamicVal, sensitive: isTrue(content.Attributes["sensitive"])}
	if a := content.Attributes["type"]; a != nil {
		if constraint, defaults, diags := typeexpr.TypeConstraintWithDefaults(a.Expr); !diags.HasErrors() {
			v.constraint, v.defaults = constraint, defaults
		}
	}
	if a := content.Attributes["default"]; a != nil {
		if value, diags := a.Expr.Value(nil); !diags.HasErrors() {
			v.fallback = v.typed(value)
		}
	}
	nullable := content.Attributes["nullable"]
	v.notNull = nullable != nil && !isTrue(nullable)
	return v
}

// typed returns a value as the module sees it.
func (v variable) typed(value cty.Value) cty.Value {
	if value.IsNull() && v.notNull {
		return v.fallback
	}
	if v.defaults != nil && value.IsKnown() && !value.IsNull() {
		value = v.defaults.Apply(value)
	}
	converted, err := convert.Convert(value, v.constraint)
	if err != nil {
		return cty.DynamicVal
	}
	return converted
}

// isTrue reports whether an attribute is the literal true.
func isTrue(a *hcl.Attribute) bool {
	if a == nil {
		return false
	}
	v, diags := a.Expr.Value(nil)
	if diags.HasErrors() {
		return false
	}
	b, err := convert.Convert(v, cty.Bool)
	return err == nil && b.IsKnown() && !b.IsNull() && b.True()
}

// changes reports whether a parameter's block contains anything but literals.
func (b block) changes() bool {
	for _, a := range b.content.Attributes {
		if len(a.Expr.Variables()) > 0 {
			return true
		}
	}
	for _, inner := range b.content.Blocks {
		if inner.Type == "dynamic" {
			return true
		}
		attributes, _ := inner.Body.JustAttributes()
		for _, a := range attributes {
			if len(a.Expr.Variables()) > 0 {
				return true
			}
		}
	}
	return false
}
