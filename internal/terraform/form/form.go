// Package form evaluates, without running Terraform, which parameters a
// template has for given values: coder_parameter blocks of the template and of
// its modules, with count, for_each, dynamic options, and attributes that are
// expressions over other parameters, variables, locals, outputs of modules and
// the owner of the workspace.
//
// Resources, other data sources, and functions that read files or the clock
// are unknown, and so are modules whose files are missing. An unknown attribute
// keeps the value that the import found. So do parameters that only unknown
// blocks can have.
//
// The server evaluates what users write, so everything is bounded: the size of
// a source, of every expression's result before it is computed, of every value,
// the length of a chain of references, and the number of blocks, modules and
// instances. Anything beyond a bound is unknown. (TPL-10)
package form

import (
	"sync"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/rule/templatesource"
)

// Form is the source of a template's form. The zero value has no parameters.
// It is safe for concurrent use.
type Form struct {
	root   *module  // nil if the source cannot be read
	shapes sync.Map // *bound.Shape by hcl.Expression
}

// Read reads the source of a template from its tar archive, and its modules
// from the archive of the files that Terraform installed, if there is one. For
// an unreadable source it returns a form that is not dynamic; the import has
// reported the error.
func Read(archive, modules []byte) (*Form, error) {
	t, err := readTree(archive, modules)
	if err != nil {
		return &Form{}, err
	}
	return &Form{root: t.load(root, "", 0)}, nil
}

// ReadFiles is Read for a source that is no archive and has no installed modules.
func ReadFiles(files []templatesource.TemplateFile) *Form {
	t := newTree()
	for _, file := range files {
		t.add(file.Path, []byte(file.Content))
	}
	return &Form{root: t.load(root, "", 0)}
}

// Dynamic reports whether the parameters depend on anything but the source.
func (f *Form) Dynamic() bool { return f.root != nil && f.root.dynamic }

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
