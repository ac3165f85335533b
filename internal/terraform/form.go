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

// maxForms bounds the number of parsed sources that are kept.
const maxForms = 64

// Forms reads the forms of templates and caches the recently used ones. The
// zero value is ready to use. It is safe for concurrent use.
type Forms struct {
	mu    sync.Mutex
	known map[uuid.UUID]*form.Form
}

// Read returns the form of a source. load returns its archive and is called if
// the form is not cached.
func (f *Forms) Read(source uuid.UUID, load func() ([]byte, error)) (*Form, error) {
	f.mu.Lock()
	read := f.known[source]
	f.mu.Unlock()
	if read != nil {
		return read, nil
	}
	archive, err := load()
	if err != nil {
		return nil, err
	}
	if read, err = form.Read(archive); err != nil {
		read = &form.Form{} // use the parameters that the import found
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil || len(f.known) >= maxForms {
		f.known = map[uuid.UUID]*form.Form{}
	}
	f.known[source] = read
	return read, nil
}
