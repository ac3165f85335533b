package supportbundle

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/redact"
)

const (
	// maxPart bounds one file of a bundle, in bytes. Only the end of a longer
	// text is kept, because it is the newest.
	maxPart = 10 << 20
	// maxBundle bounds the uncompressed content of a bundle, in bytes.
	maxBundle = 200 << 20
)

// errFull is returned for a file that exceeds maxBundle.
var errFull = errors.New("the bundle is full: its content is limited to 200 MiB")

// Manifest describes the content of a bundle. It is stored as manifest.json.
type Manifest struct {
	CreatedAt     time.Time `json:"created_at"`
	ServerURL     string    `json:"server_url"`
	ClientVersion string    `json:"client_version"`
	ServerVersion string    `json:"server_version,omitempty"` // "" if the server did not answer
	Workspace     string    `json:"workspace,omitempty"`
	Agent         string    `json:"agent,omitempty"`
	Files         []File    `json:"files"`
	Errors        []Failure `json:"errors"`
}

// File is one file of a bundle.
type File struct {
	Path      string `json:"path"`
	Bytes     int    `json:"bytes"`
	Truncated bool   `json:"truncated,omitempty"` // only the end is included
}

// Failure is a part that could not be collected.
type Failure struct {
	Part string `json:"part"`
	// Kind is "forbidden" when the user has no permission, "unavailable" when
	// the source did not answer, and "failed" otherwise.
	Kind  string `json:"kind"`
	Error string `json:"error"`
}

// Bundle is a zip file that is being written. It is safe for concurrent use.
type Bundle struct {
	redact *redact.Redactor

	mu       sync.Mutex
	zip      *zip.Writer
	size     int
	manifest Manifest
}

func newBundle(out io.Writer, r *redact.Redactor, m Manifest) *Bundle {
	m.Files, m.Errors = []File{}, []Failure{}
	return &Bundle{redact: r, zip: zip.NewWriter(out), manifest: m}
}

// Add redacts and writes one file. A text of more than 10 MiB keeps its end; a
// JSON file of that size is an error. Profiles (.pprof), which contain only names
// of functions, and archives (.zip), whose files the caller redacts, are written
// unchanged.
func (b *Bundle) Add(name string, content []byte) error {
	truncated := false
	if len(content) > maxPart {
		if path.Ext(name) == ".json" {
			return fmt.Errorf("larger than the limit of %d MiB", maxPart>>20)
		}
		content, truncated = content[len(content)-maxPart:], true
	}
	switch path.Ext(name) {
	case ".pprof", ".zip":
	case ".json":
		content = b.redact.JSON(content)
	default:
		content = b.redact.Bytes(content)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.size+len(content) > maxBundle {
		return errFull
	}
	b.size += len(content)
	w, err := b.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: b.manifest.CreatedAt})
	if err != nil {
		return err
	}
	if _, err := w.Write(content); err != nil {
		return err
	}
	b.manifest.Files = append(b.manifest.Files, File{Path: name, Bytes: len(content), Truncated: truncated})
	return nil
}

// AddJSON writes a value as a JSON file.
func (b *Bundle) AddJSON(name string, v any) error {
	content, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return b.Add(name, content)
}

// Fail records a missing part and its error. It ignores a nil error.
func (b *Bundle) Fail(part string, err error) {
	if err == nil {
		return
	}
	kind := "failed"
	_, unreachable := errors.AsType[*url.Error](err)
	switch {
	case codersdk.Is(err, codersdk.CodeForbidden, codersdk.CodeNotFound):
		kind = "forbidden"
	case unreachable, codersdk.Is(err, codersdk.CodeUnavailable, codersdk.CodePrecondition):
		kind = "unavailable"
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.manifest.Errors = append(b.manifest.Errors, Failure{Part: part, Kind: kind, Error: b.redact.Text(strings.TrimSpace(err.Error()))})
}

// Redact returns content without secrets, for files of archives.
func (b *Bundle) Redact(content []byte) []byte { return b.redact.Bytes(content) }

// describe changes the manifest.
func (b *Bundle) describe(change func(*Manifest)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(&b.manifest)
}

// finish writes the manifest and the end of the zip file.
func (b *Bundle) finish() (Manifest, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	content, err := json.MarshalIndent(b.manifest, "", "  ")
	if err != nil {
		return b.manifest, err
	}
	w, err := b.zip.CreateHeader(&zip.FileHeader{Name: "manifest.json", Method: zip.Deflate, Modified: b.manifest.CreatedAt})
	if err == nil {
		_, err = w.Write(b.redact.JSON(content))
	}
	return b.manifest, errors.Join(err, b.zip.Close())
}
