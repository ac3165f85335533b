package sourcetree

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

// ModulesFile is where Terraform lists the modules that it installed.
const ModulesFile = ".terraform/modules/modules.json"

// InstalledModule is a module that Terraform installed.
type InstalledModule struct {
	Key     string // path of calls, such as "git.inner"; "" for the template itself
	Source  string
	Version string // "" unless it comes from a registry
	Dir     string // clean path from the top directory
}

// ParseModules parses ModulesFile.
func ParseModules(text []byte) ([]InstalledModule, error) {
	var list struct{ Modules []InstalledModule }
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("read Terraform's list of modules: %w", err)
	}
	for i, m := range list.Modules {
		list.Modules[i].Dir = path.Clean(strings.ReplaceAll(m.Dir, `\`, "/"))
	}
	return list.Modules, nil
}

// Walk calls f with the regular files of a tar archive and their clean paths, and returns the
// first error. An archive without bytes has no files.
func Walk(archive []byte, f func(name string, size int64, r io.Reader) error) error {
	if len(archive) == 0 {
		return nil
	}
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the archive is damaged: %w", err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if err := f(path.Clean(h.Name), h.Size, r); err != nil {
			return err
		}
	}
}

// Foreign reports whether a file is configuration in JSON or overrides other files. Packages
// that read sources without Terraform do not read such files, which may declare more.
func Foreign(file string) bool {
	name := path.Base(file)
	return strings.HasSuffix(name, ".tf.json") || name == "override.tf" || strings.HasSuffix(name, "_override.tf")
}

// TooDeep reports nesting beyond any real template. The parser is recursive, and a stack
// overflow would end the process.
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
