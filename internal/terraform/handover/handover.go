// Package handover decides, from the source of a template, whether a prebuilt
// workspace can be given to its new owner before Terraform has run for that owner.
//
// That is possible if nothing that Terraform manages depends on the owner. Read
// follows every reference of the source, through locals, variables, outputs and
// modules, to the data sources that differ after a claim: all of
// coder_workspace_owner, the name of coder_workspace and its flags of prebuilds, and
// tokens and secrets of the owner. A resource depends on the owner if one of its
// arguments does, unless lifecycle.ignore_changes names the argument. Values of
// parameters are no dependency: the caller compares them with those of the build.
//
// What cannot be read counts as dependent: JSON files, overrides, modules whose source
// is not there, and anything beyond the bounds of a source.
package handover

import (
	"github.com/google/uuid"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/seed-2a7f8fe7/coder/internal/rule/templatesource"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/sourcetree"
)

const maxDepth = 100 // of references and of modules

// Setting is the local value of a template's top directory that overrides Read:
// true hands workspaces over first, false never does.
const Setting = "coder_claim_first"

// Verdict is what Read found.
type Verdict struct {
	// First reports whether a workspace can be handed over before its build.
	First bool
	// Because is the first reason why not, with its place; "" if First.
	Because string
}

// Cache keeps the recent verdicts on template versions, by their IDs.
type Cache = sourcetree.Verdicts[uuid.UUID, Verdict]

// NewCache returns a Cache.
func NewCache() *Cache { return sourcetree.NewVerdicts[uuid.UUID](Read) }

// Read judges a template: source is its tar archive, modules that of
// .terraform/modules, nil if it has no remote modules.
func Read(source, modules []byte) Verdict {
	files, err := sourcetree.Read(source, modules, templatesource.IsConfiguration)
	if err != nil {
		return Verdict{Because: err.Error()}
	}
	bodies, err := files.Parse(".")
	if err != nil {
		return Verdict{Because: err.Error()}
	}
	set, err := sourcetree.Setting(bodies, Setting)
	switch {
	case err != nil:
		return Verdict{Because: err.Error()}
	case set != nil && !*set:
		return Verdict{Because: "the template sets " + Setting + " = false"}
	case set != nil:
		return Verdict{First: true}
	}
	root := newModule(&tree{Tree: files}, ".", "", bodies)
	why := root.dependence()
	return Verdict{First: why == "", Because: why}
}

// tree is the files of a template and of its modules.
type tree struct {
	*sourcetree.Tree
	depth int // of references
}

// newModule returns the module with the files of a directory. key is its path of calls, ""
// for the top directory.
func newModule(t *tree, dir, key string, bodies []*hclsyntax.Body) *module {
	m := &module{
		tree: t, dir: dir, key: key, locals: map[string]hcl.Expression{}, inputs: map[string]hcl.Expression{}, outputs: map[string]*hclsyntax.Block{},
		blocks: map[string][]*hclsyntax.Block{}, calls: map[string]*hclsyntax.Block{}, children: map[string]*module{}, seen: map[string]string{},
	}
	for _, body := range bodies {
		m.read(body)
	}
	return m
}
