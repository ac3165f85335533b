package main

import (
	"io"
	"os"
	"path/filepath"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// pack writes a package for Linux, in the format deb or rpm.
func (r *release) pack(p platform, format string) error {
	info, err := r.info(p, format)
	if err != nil {
		return err
	}
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return err
	}
	return r.create("_"+p.os+"_"+p.arch+"."+format, func(w io.Writer) error { return packager.Package(info, w) })
}

// info describes a package. Each file has the time of the release.
func (r *release) info(p platform, format string) (*nfpm.Info, error) {
	deploy := filepath.Join(r.source, "deploy")
	var contents files.Contents
	add := func(source, destination, kind string, mode os.FileMode) {
		contents = append(contents, &files.Content{
			Source: source, Destination: destination, Type: kind,
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: mode, MTime: r.time},
		})
	}
	add(filepath.Join(r.bin, p.program("coder")), "/usr/bin/coder", "", 0o755)
	packed, err := r.packed()
	if err != nil {
		return nil, err
	}
	for _, path := range packed {
		add(path, "/usr/share/coder/bin/"+filepath.Base(path), "", 0o644)
	}
	if r.sbom != "" {
		add(r.sbom, "/usr/share/coder/sbom.cdx.json", "", 0o644)
	}
	add(filepath.Join(r.source, "LICENSE"), "/usr/share/doc/coder/copyright", "", 0o644)
	add(filepath.Join(r.source, "NOTICE"), "/usr/share/doc/coder/NOTICE", "", 0o644)
	for _, unit := range []string{"coder", "coder-provisioner"} {
		add(filepath.Join(deploy, "systemd", unit+".service"), "/usr/lib/systemd/system/"+unit+".service", "", 0o644)
		add(filepath.Join(deploy, "systemd", unit+".env"), "/etc/coder.d/"+unit+".env", files.TypeConfigNoReplace, 0o640)
	}
	arch := p.arch
	if arch == "armv7" {
		arch = "arm7" // nfpm's word for armhf and armv7hl
	}
	scripts := filepath.Join(deploy, "packages")
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "coder", Arch: arch, Platform: "linux", Version: r.version, MTime: r.time,
		License: "Apache-2.0", Section: "devel", Priority: "optional",
		Maintainer:  "The coder project <noreply@github.com>",
		Description: "Remote development environments on your own infrastructure.\nThe server, provisioner, agent and command line in one program.",
		Homepage:    "https://github.com/seed-2a7f8fe7/coder",
		Overridables: nfpm.Overridables{
			Contents: contents, Recommends: []string{"ca-certificates", "git"},
			Scripts: nfpm.Scripts{
				PreInstall: filepath.Join(scripts, "preinstall.sh"), PostInstall: filepath.Join(scripts, "postinstall.sh"),
				PreRemove: filepath.Join(scripts, "preremove.sh"), PostRemove: filepath.Join(scripts, "postremove.sh"),
			},
		},
	})
	// The name of the machine that built it would make each package another.
	info.RPM.BuildHost = "localhost"
	if format == "rpm" {
		info.Depends = []string{"shadow-utils"} // for useradd
	}
	return info, nil
}
