// Release builds the files of a release from the programs in a directory:
//
//	release -bin ../../bin -out ../../dist -source ../.. [-sbom FILE]
//
//	coder_<version>_linux_<arch>.tar.gz           the program
//	coder_<version>_<darwin|windows>_<arch>.zip   the program
//	coder_<version>_linux_<arch>.deb, .rpm        the program, units for systemd, and
//	                                              every platform for the server to serve
//	coder_<version>_downloads.tar                 every platform, for other servers
//	coder_<version>_sbom.cdx.json                 what the programs are made of
//	checksums.txt                                 SHA-256 of all of these
//
// The version is that of the program for this machine, without the leading v.
// All programs must be of the same commit. Times in the files are
// SOURCE_DATE_EPOCH, or the time of the commit, so that the same programs
// produce the same files.
package main

import (
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// platform is a target, in the words of file names.
type platform struct{ os, arch string }

func (p platform) program(name string) string {
	file := name + "-" + p.os + "-" + p.arch
	if p.os == "windows" {
		file += ".exe"
	}
	return file
}

var platforms = []platform{
	{"linux", "amd64"}, {"linux", "arm64"}, {"linux", "armv7"},
	{"darwin", "amd64"}, {"darwin", "arm64"},
	{"windows", "amd64"}, {"windows", "arm64"},
}

// release is the input of a release.
type release struct {
	bin     string // directory of programs; packed ones are in its downloads
	out     string // directory of the files
	source  string // the source tree
	sbom    string // "" for none
	version string // without the leading v
	time    time.Time
}

func main() {
	var r release
	flag.StringVar(&r.bin, "bin", "", "directory of the programs")
	flag.StringVar(&r.out, "out", "", "directory of the release; its contents are deleted")
	flag.StringVar(&r.source, "source", "", "source tree")
	flag.StringVar(&r.sbom, "sbom", "", "CycloneDX file of the programs")
	flag.Parse()
	if err := run(&r); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(r *release) error {
	if r.bin == "" || r.out == "" || r.source == "" {
		return errors.New("usage: release -bin DIRECTORY -out DIRECTORY -source DIRECTORY [-sbom FILE]")
	}
	if err := r.identify(); err != nil {
		return err
	}
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	return r.build()
}

// build writes all files.
func (r *release) build() error {
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	for _, p := range platforms {
		if err := r.archive(p); err != nil {
			return fmt.Errorf("archive for %s %s: %w", p.os, p.arch, err)
		}
		if p.os != "linux" {
			continue
		}
		for _, format := range []string{"deb", "rpm"} {
			if err := r.pack(p, format); err != nil {
				return fmt.Errorf("%s for %s: %w", format, p.arch, err)
			}
		}
	}
	if err := r.downloads(); err != nil {
		return fmt.Errorf("archive of all platforms: %w", err)
	}
	if r.sbom != "" {
		text, err := os.ReadFile(r.sbom)
		if err != nil {
			return err
		}
		if err := os.WriteFile(r.file("_sbom.cdx.json"), text, 0o644); err != nil {
			return err
		}
	}
	return r.checksums()
}

// file is the path of a file of the release.
func (r *release) file(rest string) string { return filepath.Join(r.out, "coder_"+r.version+rest) }

// packed returns the programs that a server serves, ordered by name.
func (r *release) packed() ([]string, error) {
	files, err := filepath.Glob(filepath.Join(r.bin, "downloads", "coder-*.gz"))
	if err == nil && len(files) != 2*len(platforms) {
		err = fmt.Errorf("found %d files in %s/downloads, expected the program and the agent for %d platforms; run make downloads",
			len(files), r.bin, len(platforms))
	}
	return files, err
}

// The version without the v in front.
var versionFormat = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)

// identify determines the version and the time, and checks that all programs
// are of the same commit.
func (r *release) identify() error {
	own := platform{runtime.GOOS, runtime.GOARCH}
	if own.arch == "arm" {
		own.arch = "armv7"
	}
	out, err := exec.Command(filepath.Join(r.bin, own.program("coder")), "version", "--output", "json").Output()
	if err != nil {
		return fmt.Errorf("run the program for its version: %w", err)
	}
	var info struct{ Version string }
	if err := json.Unmarshal(out, &info); err != nil {
		return fmt.Errorf("read the version: %w", err)
	}
	if r.version = strings.TrimPrefix(info.Version, "v"); !versionFormat.MatchString(r.version) {
		return fmt.Errorf("version %q is not valid for packages", info.Version)
	}
	first, modified := "", false
	for _, p := range platforms {
		for _, name := range []string{"coder", "coder-agent"} {
			info, err := buildinfo.ReadFile(filepath.Join(r.bin, p.program(name)))
			if err != nil {
				return err
			}
			commit := ""
			for _, s := range info.Settings {
				switch s.Key {
				case "vcs.revision":
					commit += s.Value
				case "vcs.modified":
					modified = modified || s.Value == "true"
				case "vcs.time":
					if r.time, err = time.Parse(time.RFC3339, s.Value); err != nil {
						return err
					}
				}
			}
			if first == "" {
				first = commit
			}
			if commit != first {
				return fmt.Errorf("%s has commit %s and others have %s; build all of them again", p.program(name), commit, first)
			}
		}
	}
	if modified {
		fmt.Fprintln(os.Stderr, "release: warning: the programs contain uncommitted changes; do not publish them")
	}
	return r.setTime(os.Getenv("SOURCE_DATE_EPOCH"))
}

// setTime takes the time from SOURCE_DATE_EPOCH if it is set.
func (r *release) setTime(epoch string) error {
	if epoch != "" {
		seconds, err := strconv.ParseInt(epoch, 10, 64)
		if err != nil {
			return fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
		}
		r.time = time.Unix(seconds, 0)
	}
	if r.time.IsZero() {
		return errors.New("the programs do not contain a commit; set SOURCE_DATE_EPOCH to the Unix time for the files")
	}
	r.time = r.time.UTC()
	return nil
}
