// Package ahead is about plans that Terraform makes before the build that applies them.
// Read decides, from the source of a template, whether such a plan is the plan that the
// build would make. Plan is what is kept of it.
//
// A plan can be made ahead if it depends on nothing but inputs that the server compares
// when the build begins. So the source must not read tokens that are issued for one build,
// the clock, or files outside of it, and must not use functions that are not known to be
// pure. timestamp, uuid and bcrypt are known only during the apply, and so are no input.
// Providers may read the world outside while they plan. Those of pure do not; for others
// the author of the template must vouch, with the local value Setting.
//
// What cannot be read does not qualify: JSON files, files of OpenTofu, and modules whose
// source is not there.
package ahead

import (
	"strings"

	"github.com/google/uuid"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/seed-2a7f8fe7/coder/internal/terraform/sourcetree"
)

// maxTemplates bounds the calls of templatefile.
const maxTemplates = 200

// Setting is the local value of a template's top directory about plans ahead: false
// prevents them, true vouches that its providers plan the same for as long as a plan is
// kept.
const Setting = "coder_plan_ahead"

// Verdict is what Read found.
type Verdict struct {
	// Because is the first reason why no plan can be made ahead, with its place; "" if
	// there is none.
	Because string
	// Vouched reports whether the template sets Setting to true.
	Vouched bool
}

// Source is the source of a template version, with or without the files of its remote modules.
type Source struct {
	Version uuid.UUID
	Modules bool
}

// Cache keeps the recent verdicts.
type Cache = sourcetree.Verdicts[Source, Verdict]

// NewCache returns a Cache.
func NewCache() *Cache { return sourcetree.NewVerdicts[Source](Read) }

// Read judges a template: source is its tar archive, modules that of
// .terraform/modules, nil if it has no remote modules.
func Read(source, modules []byte) Verdict {
	files, err := sourcetree.Read(source, modules, func(string) bool { return true }) // templates of files, too
	if err != nil {
		return Verdict{Because: err.Error()}
	}
	root, err := files.Parse(".")
	if err != nil {
		return Verdict{Because: err.Error()}
	}
	set, err := sourcetree.Setting(root, Setting)
	switch {
	case err != nil:
		return Verdict{Because: err.Error()}
	case set != nil && !*set:
		return Verdict{Because: "the template sets " + Setting + " = false"}
	}
	t := &tree{Tree: files, vouched: set != nil}
	if err := t.check(".", "", root); err != nil {
		return Verdict{Because: err.Error(), Vouched: t.vouched}
	}
	return Verdict{Vouched: t.vouched}
}

// tree is the files of a template and of its modules.
type tree struct {
	*sourcetree.Tree
	templates int // files that templatefile reads
	vouched   bool
}

// check checks the module in a directory and those that it calls. key is its path of
// calls.
func (t *tree) check(dir, key string, bodies []*hclsyntax.Body) error {
	m := &module{tree: t, dir: dir, providers: map[string]string{}}
	for _, body := range bodies {
		m.readProviders(body)
	}
	for _, body := range bodies {
		for _, b := range body.Blocks {
			if err := m.ofBlock(b); err != nil {
				return err
			}
			if b.Type != "module" || len(b.Labels) != 1 {
				continue
			}
			below := strings.TrimPrefix(key+"."+b.Labels[0], ".")
			to, err := t.Directory(dir, below, b)
			if err != nil {
				return err
			}
			child, err := t.Parse(to)
			if err == nil {
				err = t.check(to, below, child)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
