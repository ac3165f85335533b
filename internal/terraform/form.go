package terraform

import (
	"sync"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/internal/terraform/form"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/handover"
)

// Input and result of a form; see package form.
type (
	Form          = form.Form
	FormInput     = form.Input
	FormOwner     = form.Owner
	FormOwnerRole = form.OwnerRole
	FormParameter = form.Parameter
)

// Handovers caches the verdicts of package handover.
type Handovers = handover.Cache

// NewHandovers returns a cache without verdicts.
func NewHandovers() *Handovers { return handover.NewCache() }

// maxForms bounds the number of parsed sources that are kept.
const maxForms = 64

// Forms reads the forms of templates and caches the recently used ones. The
// zero value is ready to use. It is safe for concurrent use.
type Forms struct {
	mu    sync.Mutex
	known map[FormSource]*form.Form
}

// FormSource is where a form comes from: the archives of a template and of its modules. Modules is
// zero without modules of other places.
type FormSource struct{ Template, Modules uuid.UUID }

// Read returns the form of a source. load returns an archive and is called if
// the form is not cached.
func (f *Forms) Read(source FormSource, load func(uuid.UUID) ([]byte, error)) (*Form, error) {
	f.mu.Lock()
	read := f.known[source]
	f.mu.Unlock()
	if read != nil {
		return read, nil
	}
	archive, err := load(source.Template)
	if err != nil {
		return nil, err
	}
	var modules []byte
	if source.Modules != uuid.Nil {
		if modules, err = load(source.Modules); err != nil {
			return nil, err
		}
	}
	if read, err = form.Read(archive, modules); err != nil {
		read = &form.Form{} // use the parameters that the import found
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil || len(f.known) >= maxForms {
		f.known = map[FormSource]*form.Form{}
	}
	f.known[source] = read
	return read, nil
}
