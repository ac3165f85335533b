package terraform

import (
	"sync"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/internal/terraform/form"
)

// What a form is evaluated with, and what it comes to; see package form.
type (
	Form          = form.Form
	FormInput     = form.Input
	FormOwner     = form.Owner
	FormOwnerRole = form.OwnerRole
	FormParameter = form.Parameter
)

// maxForms bounds how many sources are kept as read.
const maxForms = 64

// Forms reads the forms of templates' sources and keeps those that were asked
// for lately. The zero value is ready; it is safe for concurrent use.
type Forms struct {
	mu    sync.Mutex
	known map[uuid.UUID]*form.Form
}

// Read gives the form of a source. load gives its archive, and is called for
// those that are not kept.
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
		read = &form.Form{} // what the import made of it stands
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil || len(f.known) >= maxForms {
		f.known = map[uuid.UUID]*form.Form{}
	}
	f.known[source] = read
	return read, nil
}
