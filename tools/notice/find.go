package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// systems are the operating systems of the release; the modules that a program
// links depend on them, not on the processor.
var systems = []string{"linux", "darwin", "windows"}

// goModules returns the modules that packages link on any system, and Go's
// standard library.
func goModules(packages []string) ([]component, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("find Go: %w", err)
	}
	all := []component{{name: "Go standard library", dir: strings.TrimSpace(string(root))}, swagger}
	for _, system := range systems {
		cmd := exec.Command("go", append([]string{"list", "-deps", "-json=Module"}, packages...)...)
		cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0")
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("list the modules for %s: %w", system, err)
		}
		for d := json.NewDecoder(strings.NewReader(string(out))); ; {
			var p struct {
				Module *struct {
					Path, Version, Dir string
					Main               bool
				}
			}
			if err := d.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, err
			}
			if m := p.Module; m != nil && !m.Main {
				all = append(all, component{name: m.Path, version: m.Version, dir: m.Dir})
			}
		}
	}
	return all, nil
}

// npmPackages returns the production dependencies of a package-lock.json.
func npmPackages(dir string) ([]component, error) {
	b, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		return nil, err
	}
	var lock struct {
		Packages map[string]struct {
			Version, License string
			Dev, Optional    bool
		}
	}
	if err := json.Unmarshal(b, &lock); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	var all []component
	for at, p := range lock.Packages {
		i := strings.LastIndex(at, "node_modules/")
		if i < 0 || p.Dev || p.Optional {
			continue
		}
		all = append(all, component{name: at[i+len("node_modules/"):], version: p.Version, dir: filepath.Join(dir, at), declared: p.License})
	}
	return all, nil
}

// swagger is a library whose files github.com/swaggest/swgui contains.
var swagger = component{name: "Swagger UI, copyright SmartBear Software Inc.", declared: "Apache-2.0"}

// stated are licenses that no pattern recognizes, as the component states them.
var stated = map[string]string{
	"github.com/xi2/xz": "public domain", // its LICENSE says so in a sentence
}

var (
	licenseFile = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying|copyright)s?([-._].*)?$`)
	noticeFile  = regexp.MustCompile(`(?i)^notices?(\.(txt|md))?$`)
	codeFile    = regexp.MustCompile(`(?i)\.(go|js|ts|json|html|ya?ml|docs|header|sh|tmpl)$`)
)

// read reads the license and notice files of a component and identifies them.
func (c *component) read() error {
	if c.dir == "" {
		return nil
	}
	files, err := os.ReadDir(c.dir)
	if err != nil {
		return fmt.Errorf("%s %s: %w (download modules, or run npm ci)", c.name, c.version, err)
	}
	c.declared = cmp.Or(c.declared, stated[c.name])
	found := c.declared != ""
	for _, f := range files {
		isNotice := noticeFile.MatchString(f.Name())
		if f.IsDir() || codeFile.MatchString(f.Name()) || !isNotice && !licenseFile.MatchString(f.Name()) {
			continue
		}
		content, err := os.ReadFile(filepath.Join(c.dir, f.Name()))
		if err != nil {
			return err
		}
		t := text{content: strings.ReplaceAll(string(content), "\r\n", "\n")}
		if t.license = identify(content); t.license != "" {
			found = true
		}
		c.texts = append(c.texts, t)
	}
	if !found {
		return fmt.Errorf("%s %s: no known license in %s", c.name, c.version, c.dir)
	}
	return nil
}

// identify returns the SPDX identifiers of the licenses in a text.
func identify(content []byte) string {
	var ids []string
	for _, m := range licensecheck.Scan(content).Match {
		if !m.IsURL && !slices.Contains(ids, m.ID) {
			ids = append(ids, m.ID)
		}
	}
	slices.Sort(ids)
	return strings.Join(ids, " AND ")
}
