// Sbom lists what an image or a release is made of, as CycloneDX 1.5 in JSON: the modules in Go
// programs, by what their linker noted, Debian's packages, and the dashboard's.
//
//	sbom [-name NAME] [-type container|application] [-dpkg FILE] [-npm package-lock.json,...] PROGRAM... >sbom.cdx.json
//
// The same input gives the same output.
package main

import (
	"bufio"
	"debug/buildinfo"
	"encoding/json"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

type component struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	PURL    string `json:"purl,omitempty"`
}

func main() {
	name := flag.String("name", "coder", "name of the described component")
	kind := flag.String("type", "container", "CycloneDX type of the component")
	dpkg := flag.String("dpkg", "", "Debian's list of installed packages, /var/lib/dpkg/status")
	npm := flag.String("npm", "", "package-lock.json of the dashboard and of its icons, separated by commas")
	flag.Parse()
	if err := run(*name, *kind, *dpkg, *npm, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(name, kind, dpkg, npm string, programs []string) error {
	all := map[string]component{}
	add := func(c component) {
		if c.PURL != "" {
			all[c.PURL] = c
		}
	}
	for _, p := range programs {
		info, err := buildinfo.ReadFile(p)
		if err != nil {
			return err
		}
		add(component{"application", filepath.Base(p), info.Main.Version, module(info.Main.Path, info.Main.Version)})
		add(component{"library", "stdlib", info.GoVersion, "pkg:golang/stdlib@" + strings.TrimPrefix(info.GoVersion, "go")})
		for _, d := range info.Deps {
			if d.Replace != nil {
				d = d.Replace
			}
			add(component{"library", d.Path, d.Version, module(d.Path, d.Version)})
		}
	}
	if err := packages(dpkg, add); err != nil {
		return err
	}
	for path := range strings.SplitSeq(npm, ",") {
		if err := scripts(path, add); err != nil {
			return err
		}
	}
	list := make([]component, 0, len(all))
	for _, c := range all {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b component) int { return strings.Compare(a.PURL, b.PURL) })
	e := json.NewEncoder(os.Stdout)
	e.SetIndent("", " ")
	return e.Encode(map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
		"metadata":   map[string]any{"component": component{Type: kind, Name: name}},
		"components": list,
	})
}

func module(path, version string) string {
	if path == "" {
		return ""
	}
	if version == "" || version == "(devel)" {
		return "pkg:golang/" + path
	}
	return "pkg:golang/" + path + "@" + url.PathEscape(version)
}

// packages adds the Debian packages.
func packages(path string, add func(component)) error {
	if path == "" {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var name, version, arch string
	end := func() {
		if name != "" && version != "" {
			add(component{"library", name, version, "pkg:deb/debian/" + name + "@" + url.PathEscape(version) + "?arch=" + arch})
		}
		name, version, arch = "", "", ""
	}
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		key, value, _ := strings.Cut(s.Text(), ": ")
		switch key {
		case "":
			end()
		case "Package":
			name = value
		case "Version":
			version = value
		case "Architecture":
			arch = value
		}
	}
	end()
	return s.Err()
}

// scripts adds what the dashboard links, without its build tools.
func scripts(path string, add func(component)) error {
	if path == "" {
		return nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var lock struct {
		Packages map[string]struct {
			Version string
			Dev     bool
		}
	}
	if err := json.Unmarshal(b, &lock); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for at, p := range lock.Packages {
		_, name, ok := strings.Cut(at, "node_modules/")
		if !ok || p.Dev {
			continue
		}
		if i := strings.LastIndex(name, "node_modules/"); i >= 0 {
			name = name[i+len("node_modules/"):]
		}
		add(component{"library", name, p.Version, "pkg:npm/" + strings.Replace(name, "@", "%40", 1) + "@" + p.Version})
	}
	return nil
}
