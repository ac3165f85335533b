// Package form evaluates, without running Terraform, which parameters a
// template has for given values: coder_parameter blocks with count, for_each,
// dynamic options, and attributes that are expressions over other parameters,
// variables, locals and the owner of the workspace.
//
// It evaluates the .tf files of the top directory as far as possible.
// Resources, modules, other data sources, and functions that read files or the
// clock are unknown. An unknown attribute keeps the value that the import
// found, and so do the parameters of modules.
//
// The server evaluates what users write, so everything is bounded: the size of
// a source, of every expression's result before it is computed, of every value,
// and the number of blocks and instances. Anything beyond a bound is unknown.
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

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/rule/templatesource"
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

// Read reads the .tf files in the top directory of a tar archive. For an
// unreadable source it returns a form that is not dynamic; the import has
// reported the error.
func Read(archive []byte) (*Form, error) {
	files, err := sources(archive)
	if err != nil {
		return &Form{locals: map[string]hcl.Expression{}}, err
	}
	return parse(files), nil
}

// Foreign reports whether a file is configuration in JSON or overrides other files. Packages
// that read sources without Terraform do not read such files, which may declare more.
func Foreign(file string) bool {
	name := path.Base(file)
	return strings.HasSuffix(name, ".tf.json") || name == "override.tf" || strings.HasSuffix(name, "_override.tf")
}

// ReadFiles is Read for a source that is no archive.
func ReadFiles(files []templatesource.TemplateFile) *Form {
	var out []source
	left := maxSource
	for _, file := range files {
		name := path.Clean(file.Path)
		if strings.Contains(name, "/") || strings.HasPrefix(name, ".") {
			continue
		}
		if Foreign(name) {
			return &Form{}
		}
		if strings.HasSuffix(name, ".tf") {
			out = append(out, source{name, []byte(file.Content)})
			left -= len(file.Content)
		}
	}
	if left < 0 {
		return &Form{}
	}
	slices.SortFunc(out, func(a, b source) int { return cmp.Compare(a.name, b.name) })
	return parse(out)
}

// parse returns the form of configuration files; a form without parameters if they cannot be
// parsed.
func parse(files []source) *Form {
	f := &Form{locals: map[string]hcl.Expression{}}
	parser := hclparse.NewParser()
	for _, file := range files {
		if TooDeep(file.text) {
			return &Form{}
		}
		parsed, diags := parser.ParseHCL(file.text, file.name)
		if diags.HasErrors() || !f.read(parsed.Body) {
			return &Form{}
		}
	}
	return f
}

type source struct {
	name string
	text []byte
}

// sources returns the configuration files by name, or none if the source uses
// JSON, overrides or too large files, which this package does not read.
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
		isTF := strings.HasSuffix(name, ".tf")
		switch {
		case Foreign(name), isTF && h.Size > left:
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

// TooDeep reports nesting beyond any real template. The parser is recursive,
// and a stack overflow would end the process.
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

// read takes the blocks of one file; it returns false if there are too many.
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

// changes reports whether a parameter's block contains anything but literals.
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

// Dynamic reports whether the parameters depend on anything but the source.
func (f *Form) Dynamic() bool { return f.dynamic }

// Owner is the user that a template may refer to.
type Owner struct {
	ID, Name, FullName, Email, LoginType, SSHPublicKey string
	Groups                                             []string
	Roles                                              []OwnerRole
}

// OwnerRole is a role of the owner, and its organization, if any.
type OwnerRole struct{ Name, OrganizationID string }

// Input is the input of an evaluation.
type Input struct {
	Owner     Owner
	Variables []codersdk.TemplateVersionVariable
	// Values are the entered values, by parameter name.
	Values map[string]string
}

// Parameter is a parameter as evaluated with the input.
type Parameter struct {
	codersdk.TemplateVersionParameter
	Styling codersdk.PreviewParameterStyling
	Order   int64
}
