// Package form finds out, without running Terraform, which parameters a
// template asks for when some of them have values: coder_parameter blocks with
// count, for_each, dynamic options, and attributes that are expressions over
// other parameters, variables, locals, and the owner of the workspace to be.
//
// It evaluates the top directory's .tf files with what it knows and leaves open
// what it does not: resources, modules, other data sources, functions that read
// files or the clock. An attribute that stays open is as the import found it,
// and so are the parameters of modules.
//
// The server evaluates what people write, so that everything is bounded: the
// size of a source, of an expression's result before it is computed, of every
// value, and the number of blocks and instances. What is beyond stays open.
// (TPL-10)
package form

import (
	"archive/tar"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclparse"

	"github.com/seed-2a7f8fe7/coder"
)

// Bounds of a source.
const (
	maxSource     = 1 << 20 // bytes of all files together
	maxBlocks     = 2000    // locals and parameters together
	maxInstances  = 100     // of one block
	maxParameters = 500
	maxPasses     = 200 // and so the longest chain
)

// Form is the source of a template's form. It is safe for concurrent use.
type Form struct {
	locals     map[string]hcl.Expression
	parameters []block
	owners     []string // labels of data "coder_workspace_owner"
	workspaces []string // labels of data "coder_workspace"
	variables  []string
	dynamic    bool
}

// block is one coder_parameter.
type block struct {
	label string
	body  hcl.Body
	where string
}

// Read reads the .tf files in the top directory of a tar archive. A source
// that cannot be read gives a form that is not dynamic: the import has judged it.
func Read(archive []byte) (*Form, error) {
	f := &Form{locals: map[string]hcl.Expression{}}
	files, err := sources(archive)
	if err != nil {
		return f, err
	}
	parser := hclparse.NewParser()
	for _, file := range files {
		if TooDeep(file.text) {
			return &Form{}, nil
		}
		parsed, diags := parser.ParseHCL(file.text, file.name)
		if diags.HasErrors() {
			return &Form{}, nil
		}
		if !f.read(parsed.Body) {
			return &Form{}, nil
		}
	}
	return f, nil
}

type source struct {
	name string
	text []byte
}

// sources gives the configuration files by name, none when some of it is
// written in a way that is not read here: as JSON, as overrides, or too large.
func sources(archive []byte) ([]source, error) {
	var out []source
	left := int64(maxSource)
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read template: %w", err)
		}
		name := path.Clean(h.Name)
		if h.Typeflag != tar.TypeReg || strings.Contains(name, "/") || strings.HasPrefix(name, ".") {
			continue
		}
		stem, isTF := strings.CutSuffix(name, ".tf")
		switch {
		case strings.HasSuffix(name, ".tf.json"), isTF && (stem == "override" || strings.HasSuffix(stem, "_override")), isTF && h.Size > left:
			return nil, nil
		case !isTF:
			continue
		}
		b, err := io.ReadAll(io.LimitReader(r, left))
		if err != nil {
			return nil, fmt.Errorf("read template: %w", err)
		}
		left -= int64(len(b))
		out = append(out, source{name, b})
	}
	slices.SortFunc(out, func(a, b source) int { return cmp.Compare(a.name, b.name) })
	return out, nil
}

// TooDeep finds nesting that no person writes. The parser calls itself for each
// level, and a stack that overflows ends the whole process.
func TooDeep(src []byte) bool {
	const limit = 2000
	depth, signs, conditions := 0, 0, 0
	for _, c := range src {
		switch c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth = max(depth-1, 0)
		case '?':
			conditions++
		}
		switch c {
		case '!', '-':
			signs++
		case ' ', '\t':
		default:
			signs = 0
		}
		if depth > limit || signs > limit || conditions > 10*limit {
			return true
		}
	}
	return false
}

// read takes the blocks of one file; false says that there are too many.
func (f *Form) read(body hcl.Body) bool {
	content, _, _ := body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
		{Type: "locals"}, {Type: "variable", LabelNames: []string{"name"}}, {Type: "data", LabelNames: []string{"type", "name"}},
	}})
	for _, b := range content.Blocks {
		switch {
		case b.Type == "variable":
			f.variables = append(f.variables, b.Labels[0])
		case b.Type == "locals":
			attributes, _ := b.Body.JustAttributes()
			for name, a := range attributes {
				f.locals[name] = a.Expr
			}
		case b.Labels[0] == "coder_parameter":
			f.parameters = append(f.parameters, block{b.Labels[1], b.Body, fmt.Sprintf("%s:%d", b.DefRange.Filename, b.DefRange.Start.Line)})
			f.dynamic = f.dynamic || changes(b.Body)
		case b.Labels[0] == "coder_workspace_owner":
			f.owners = append(f.owners, b.Labels[1])
		case b.Labels[0] == "coder_workspace":
			f.workspaces = append(f.workspaces, b.Labels[1])
		}
	}
	return len(f.locals)+len(f.parameters) <= maxBlocks
}

// changes says whether a parameter's block holds anything but literals.
func changes(body hcl.Body) bool {
	content, _, _ := body.PartialContent(parameterSchema())
	for _, a := range content.Attributes {
		if len(a.Expr.Variables()) > 0 {
			return true
		}
	}
	for _, b := range content.Blocks {
		if b.Type == "dynamic" {
			return true
		}
		attributes, _ := b.Body.JustAttributes()
		for _, a := range attributes {
			if len(a.Expr.Variables()) > 0 {
				return true
			}
		}
	}
	return false
}

// Dynamic says whether the parameters depend on anything but the source.
func (f *Form) Dynamic() bool { return f.dynamic }

// Owner is whom a template may ask about.
type Owner struct {
	ID, Name, FullName, Email, LoginType, SSHPublicKey string
	Groups                                             []string
	Roles                                              []OwnerRole
}

// OwnerRole is a role of the owner, and the organization that it is in, if any.
type OwnerRole struct{ Name, OrganizationID string }

// Input is what a form is evaluated with.
type Input struct {
	Owner     Owner
	Variables []coder.TemplateVersionVariable
	// Values are those that were filled in, by the parameters' names.
	Values map[string]string
}

// Parameter is a parameter as it is with the input.
type Parameter struct {
	coder.TemplateVersionParameter
	Styling coder.PreviewParameterStyling
	Order   int64
}
