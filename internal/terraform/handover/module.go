package handover

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/seed-2a7f8fe7/coder/internal/terraform/sourcetree"
)

// module is one call of a module, or the top directory.
type module struct {
	tree     *tree
	dir, key string
	parent   *module

	locals   map[string]hcl.Expression
	inputs   map[string]hcl.Expression     // arguments of the call
	outputs  map[string]*hclsyntax.Block   // by name
	blocks   map[string][]*hclsyntax.Block // resources, data sources and providers by kind
	calls    map[string]*hclsyntax.Block   // module blocks by name
	children map[string]*module
	seen     map[string]string // results by address; "" while one is computed, which ends circles
}

func (m *module) read(body *hclsyntax.Body) {
	for _, b := range body.Blocks {
		switch {
		case b.Type == "locals":
			for name, a := range b.Body.Attributes {
				m.locals[name] = a.Expr
			}
		case b.Type == "output" && len(b.Labels) == 1:
			m.outputs[b.Labels[0]] = b
		case b.Type == "module" && len(b.Labels) == 1:
			m.calls[b.Labels[0]] = b
		default:
			m.blocks[b.Type] = append(m.blocks[b.Type], b)
		}
	}
}

// dependence returns why something that Terraform manages in the module or below
// depends on the owner, "" if nothing does.
func (m *module) dependence() string {
	for _, kind := range slices.Sorted(maps.Keys(m.blocks)) {
		for _, b := range m.blocks[kind] {
			if why := m.ofBlock(kind, b); why != "" {
				return why
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.calls)) {
		child, err := m.child(name)
		if err != nil {
			return err.Error()
		}
		for _, argument := range []string{"count", "for_each"} {
			if a, ok := m.calls[name].Body.Attributes[argument]; ok {
				if why := m.ofExpression(a.Expr); why != "" {
					return fmt.Sprintf("%s: module %q: its %s %s", sourcetree.Place(a.SrcRange), name, argument, why)
				}
			}
		}
		if why := child.dependence(); why != "" {
			return why
		}
	}
	return ""
}

// ofBlock returns why a block depends on the owner.
func (m *module) ofBlock(kind string, b *hclsyntax.Block) string {
	var ignored []string
	switch {
	case kind == "resource" && len(b.Labels) == 2 && b.Labels[0] == "coder_metadata": // only shown
		return ""
	case kind == "resource":
		ignored = ignoredChanges(b.Body)
	case kind == "provider", kind == "import":
	default:
		return ""
	}
	argument, why := m.ofBody(b.Body, ignored)
	if why == "" {
		return ""
	}
	return fmt.Sprintf("%s: %s: its %s %s", sourcetree.Place(b.DefRange()), strings.Join(append([]string{kind}, b.Labels...), " "), argument, why)
}

// meta are blocks of a resource whose content changes nothing that exists.
var meta = []string{"lifecycle", "provisioner", "connection", "timeouts"}

// ofBody returns the first argument that depends on the owner, and why.
func (m *module) ofBody(body *hclsyntax.Body, ignored []string) (argument, why string) {
	if slices.Contains(ignored, "all") {
		kept := []string{"count", "for_each", "provider"}
		for _, name := range kept {
			if a, ok := body.Attributes[name]; ok {
				if why := m.ofExpression(a.Expr); why != "" {
					return name, why
				}
			}
		}
		return "", ""
	}
	for _, name := range slices.Sorted(maps.Keys(body.Attributes)) {
		if name == "depends_on" || slices.Contains(ignored, name) {
			continue
		}
		if why := m.ofExpression(body.Attributes[name].Expr); why != "" {
			return name, why
		}
	}
	for _, b := range body.Blocks {
		name := b.Type
		if name == "dynamic" && len(b.Labels) == 1 {
			name = b.Labels[0]
		}
		if slices.Contains(meta, b.Type) || slices.Contains(ignored, name) {
			continue
		}
		if inner, why := m.ofBody(b.Body, nil); why != "" {
			return name + "." + inner, why
		}
	}
	return "", ""
}

// ignoredChanges returns the arguments whose changes a resource ignores as a whole,
// or "all".
func ignoredChanges(body *hclsyntax.Body) (out []string) {
	for _, b := range body.Blocks {
		a, ok := b.Body.Attributes["ignore_changes"]
		if b.Type != "lifecycle" || !ok {
			continue
		}
		if hcl.ExprAsKeyword(a.Expr) == "all" {
			return []string{"all"}
		}
		list, _ := hcl.ExprList(a.Expr)
		for _, e := range list {
			if t, diags := hcl.RelTraversalForExpr(e); !diags.HasErrors() && len(t) == 1 { // a part of an argument can change beside the rest
				if step, ok := t[0].(hcl.TraverseAttr); ok {
					out = append(out, step.Name)
				}
			}
		}
	}
	return out
}

// ofExpression returns why the value of an expression depends on the owner.
func (m *module) ofExpression(e hcl.Expression) string {
	for _, t := range e.Variables() {
		if why := m.ofReference(t); why != "" {
			return why
		}
	}
	return ""
}

// ofReference returns why the value of a reference depends on the owner.
func (m *module) ofReference(t hcl.Traversal) string {
	root, name, third := t.RootName(), sourcetree.Step(t, 1), sourcetree.Step(t, 2)
	switch root {
	case "path", "terraform", "each", "count", "self": // for_each and count are arguments of the block
		return ""
	case "local":
		return m.once("local."+name, func() string {
			if e, ok := m.locals[name]; ok {
				return m.ofExpression(e)
			}
			return "reads local values as a whole"
		})
	case "var":
		return m.once("var."+name, func() string {
			if e, ok := m.inputs[name]; ok && m.parent != nil {
				return m.parent.ofExpression(e)
			}
			return ""
		})
	case "module":
		output := third
		if _, indexed := t[min(2, len(t)-1)].(hcl.TraverseIndex); indexed { // module.x[0].y
			output = sourcetree.Step(t, 3)
		}
		return m.once("module."+name+"."+output, func() string { return m.ofOutput(name, output) })
	case "data":
		return m.ofData(name, t)
	case "ephemeral":
		return "reads an ephemeral resource"
	}
	return "" // another resource, which is examined itself
}

// ofOutput returns why an output of a module depends on the owner: any output if the name
// is "".
func (m *module) ofOutput(call, name string) string {
	child, err := m.child(call)
	if err != nil {
		return err.Error()
	}
	for _, output := range slices.Sorted(maps.Keys(child.outputs)) {
		a, ok := child.outputs[output].Body.Attributes["value"]
		if !ok || name != "" && name != output {
			continue
		}
		if why := child.ofExpression(a.Expr); why != "" {
			return why
		}
	}
	return ""
}

// ofWorkspace are the attributes of coder_workspace that a claim does not change.
var ofWorkspace = []string{"access_port", "access_url", "id", "start_count", "template_id", "template_name", "template_version", "transition"}

// ofData returns why a data source depends on the owner.
func (m *module) ofData(kind string, t hcl.Traversal) string {
	label, rest := sourcetree.Step(t, 2), t[min(3, len(t)):]
	attribute := ""
	for _, s := range rest {
		if a, ok := s.(hcl.TraverseAttr); ok {
			attribute = a.Name
			break
		}
	}
	switch {
	case kind == "coder_parameter", kind == "coder_provisioner", kind == "coder_workspace_preset", kind == "coder_workspace_tags":
		return ""
	case kind == "coder_workspace" && slices.Contains(ofWorkspace, attribute):
		return ""
	case kind == "external", strings.HasPrefix(kind, "coder_"):
		return "reads " + strings.TrimSuffix("data."+kind+"."+label+"."+attribute, ".")
	}
	return m.once("data."+kind+"."+label, func() string {
		for _, b := range m.blocks["data"] {
			if slices.Equal(b.Labels, []string{kind, label}) {
				_, why := m.ofBody(b.Body, nil)
				return why
			}
		}
		return "reads a data source that is not declared"
	})
}

// once computes a result for an address once. References in a circle, which Terraform refuses, end.
func (m *module) once(address string, compute func() string) string {
	if why, ok := m.seen[address]; ok {
		return why
	}
	m.seen[address] = ""
	if m.tree.depth++; m.tree.depth > maxDepth {
		m.tree.depth--
		return "has a chain of references that is too long"
	}
	why := compute()
	m.tree.depth--
	m.seen[address] = why
	return why
}

// child loads the module of a call.
func (m *module) child(name string) (*module, error) {
	if c, ok := m.children[name]; ok {
		return c, nil
	}
	call, ok := m.calls[name]
	if !ok {
		return nil, fmt.Errorf("module %q is not declared", name)
	}
	key := strings.TrimPrefix(m.key+"."+name, ".")
	if strings.Count(key, ".") > maxDepth {
		return nil, fmt.Errorf("module %q is nested too deeply", key)
	}
	dir, err := m.tree.Directory(m.dir, key, call)
	if err != nil {
		return nil, err
	}
	bodies, err := m.tree.Parse(dir)
	if err != nil {
		return nil, err
	}
	c := newModule(m.tree, dir, key, bodies)
	c.parent = m
	for argument, a := range call.Body.Attributes {
		c.inputs[argument] = a.Expr
	}
	m.children[name] = c
	return c, nil
}
