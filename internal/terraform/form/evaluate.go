package form

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/form/bound"
)

// Bounds of an evaluation.
const (
	maxInstances  = 100 // of one block
	maxScopes     = 200 // instances of modules
	maxParameters = 500
	maxDepth      = 200 // and so the longest chain of references
)

var functions = bound.Functions()

// evaluation is one form with one input.
type evaluation struct {
	in        Input
	static    map[string]codersdk.TemplateVersionParameter // of the import, by name
	shapes    *sync.Map                                    // of expressions, for the form
	owner     sized
	workspace sized
	found     map[string]bool // names of parameters whose blocks are known
	added     map[string]bool // names of parameters in out
	open      bool            // unknown blocks may have more parameters
	spent     int             // of bound.Budget
	depth     int             // of references
	scopes    int
	out       []Parameter
	problems  map[string]codersdk.FriendlyDiagnostic // by place
}

// Parameters returns the parameters for the input, in the order of the form.
// static are the parameters that the import found; they replace what is unknown
// here.
func (f *Form) Parameters(static []codersdk.TemplateVersionParameter, in Input) ([]Parameter, []codersdk.FriendlyDiagnostic) {
	e := &evaluation{
		in: in, static: map[string]codersdk.TemplateVersionParameter{}, found: map[string]bool{}, added: map[string]bool{}, open: f.root == nil,
		shapes: &f.shapes, owner: measure(owner(in.Owner)), workspace: measure(workspace()), problems: map[string]codersdk.FriendlyDiagnostic{},
	}
	for _, p := range static {
		e.static[p.Name] = p
	}
	if f.root != nil {
		e.newScope(f.root, variables(in.Variables)).ask()
	}
	out := e.ordered(static)
	var diags []codersdk.FriendlyDiagnostic
	for _, at := range slices.Sorted(maps.Keys(e.problems)) {
		diags = append(diags, e.problems[at])
	}
	if len(out) > maxParameters {
		out = out[:maxParameters]
	}
	return out, diags
}

// ordered returns the parameters by order and name. A parameter that only the import found keeps its
// place before the parameter that follows it in the import.
func (e *evaluation) ordered(static []codersdk.TemplateVersionParameter) []Parameter {
	slices.SortFunc(e.out, func(a, b Parameter) int { return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.Name, b.Name)) })
	if !e.open {
		return e.out
	}
	kept := map[string][]Parameter{} // by the name of what follows, "" for nothing
	next := ""
	for _, p := range slices.Backward(static) {
		switch {
		case e.added[p.Name]:
			next = p.Name
		case !e.found[p.Name]:
			kept[next] = append([]Parameter{{TemplateVersionParameter: p}}, kept[next]...)
		}
	}
	var out []Parameter
	for _, p := range e.out {
		out = append(append(out, kept[p.Name]...), p)
	}
	return append(out, kept[""]...)
}

// callsUnknown reports whether an expression calls an unsupported function.
func callsUnknown(diags hcl.Diagnostics) bool {
	return slices.ContainsFunc(diags, func(d *hcl.Diagnostic) bool { return strings.Contains(d.Summary, "unknown function") })
}

// note records an error in an expression for users.
func (e *evaluation) note(r hcl.Range, d *hcl.Diagnostic) {
	at := fmt.Sprintf("%s:%d", r.Filename, r.Start.Line)
	e.problems[at] = codersdk.FriendlyDiagnostic{Severity: codersdk.DiagnosticSeverityWarning, Summary: d.Summary, Detail: at + ": " + d.Detail}
}
