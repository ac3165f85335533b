// Package archive packs and unpacks the source of templates.
//
// A template's source is transferred and stored as a tar: the client packs a
// directory, the server checks an upload before it stores anything, and the
// provisioner unpacks it into a work directory. They do not trust each other,
// so this package has the same rules for all three. Names are relative and stay
// below the top. Links point to something inside, and no entry is below a link.
// Only files, directories and symbolic links are allowed. The number of entries
// and the unpacked size are checked before a byte is written. Unpacking also
// uses an os.Root, so that existing files in the directory cannot lead outside.
//
// The same files always produce the same bytes, because uploads are identified
// by their hash.
//
// Zip files are converted on input and output.
package archive

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Limits bounds the unpacked contents of an archive.
type Limits struct {
	Entries int   // files, directories and links; at least 1
	Bytes   int64 // of all files together
	Ratio   int64 // unpacked bytes per packed byte of a compressed archive
}

// Upload are the limits of uploads: 10 MiB in 4,096 entries.
func Upload() Limits { return Limits{Entries: 4096, Bytes: 10 << 20, Ratio: 200} }

// Modules are the limits of Terraform modules: 100 MiB in 50,000 entries.
func Modules() Limits { return Limits{Entries: 50000, Bytes: 100 << 20, Ratio: 200} }

// entry is one checked entry of an archive.
type entry struct {
	name string // clean, slash-separated, relative
	kind byte   // tar.TypeReg, tar.TypeDir or tar.TypeSymlink
	exec bool
	link string // of a symbolic link
	size int64
}

// Check reports whether a tar keeps the rules and the limits. Its errors are
// CodeInvalid and CodeTooLarge, with texts for the user who created the
// archive.
func Check(data []byte, l Limits) error {
	files := 0
	err := walk(data, l, func(e entry, r io.Reader) error {
		if e.kind == tar.TypeReg {
			files++
		}
		n, err := io.Copy(io.Discard, r)
		if err == nil && n != e.size {
			err = io.ErrUnexpectedEOF
		}
		return err
	})
	if err == nil && files == 0 {
		return codersdk.Errorf(codersdk.CodeInvalid, "The archive contains no files")
	}
	return err
}

// walk calls back with the entries of a tar in order, each with its content,
// and stops at the first that breaks a rule.
func walk(data []byte, l Limits, each func(entry, io.Reader) error) error {
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		return codersdk.Errorf(codersdk.CodeInvalid, "The archive is compressed with gzip; send a plain tar or a zip")
	}
	j := judge{limits: l, kinds: map[string]byte{}}
	r := tar.NewReader(bytes.NewReader(data))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return broken(err)
		}
		if h.Typeflag == tar.TypeXGlobalHeader { // git archive writes one
			continue
		}
		e, err := j.header(h)
		if err != nil {
			return err
		}
		if e.name == "." {
			continue
		}
		if err := each(e, r); err != nil {
			return broken(err)
		}
	}
}

// broken returns the error of an unreadable archive, or err if it is more
// precise.
func broken(err error) error {
	if _, ok := errors.AsType[*codersdk.Error](err); ok {
		return err
	}
	if errors.Is(err, tar.ErrHeader) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, tar.ErrFieldTooLong) {
		return codersdk.Errorf(codersdk.CodeInvalid, "The archive is damaged or incomplete").WithDetail("%v", err)
	}
	return err
}

// judge holds what was read of an archive so far, to check the next entry.
type judge struct {
	limits Limits
	kinds  map[string]byte
	count  int
	bytes  int64
}

func (j *judge) header(h *tar.Header) (entry, error) {
	e := entry{name: h.Name, kind: h.Typeflag, exec: h.Mode&0o100 != 0, link: h.Linkname, size: h.Size}
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeSymlink, tar.TypeDir:
	case '\x00': // old tars mark a file like this
		e.kind = tar.TypeReg
	case tar.TypeLink:
		return e, refuse(h.Name, "is a hard link; only files, directories and symbolic links are allowed")
	default:
		return e, refuse(h.Name, "is a device or another special file; only files, directories and symbolic links are allowed")
	}
	return e, j.admit(&e)
}

// admit checks an entry against the rules and the entries before it, and cleans
// its name.
func (j *judge) admit(e *entry) error {
	name, err := cleanName(e.name)
	if err != nil {
		return err
	}
	e.name = name
	if name == "." {
		if e.kind != tar.TypeDir {
			return refuse(name, "must be a directory")
		}
		return nil
	}
	if j.count++; j.count > j.limits.Entries {
		return codersdk.Errorf(codersdk.CodeTooLarge, "The archive contains more than %d files", j.limits.Entries)
	}
	if e.kind == tar.TypeReg {
		if e.size < 0 || e.size > j.limits.Bytes-j.bytes {
			return codersdk.Errorf(codersdk.CodeTooLarge, "The archive unpacks to more than %s", Size(j.limits.Bytes))
		}
		j.bytes += e.size
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if k, seen := j.kinds[dir]; seen && k != tar.TypeDir {
			return refuse(name, "is below %q, which is not a directory", dir)
		}
		j.kinds[dir] = tar.TypeDir
	}
	if k, seen := j.kinds[name]; seen && (k != e.kind || k == tar.TypeSymlink) {
		return refuse(name, "appears twice in the archive")
	}
	j.kinds[name] = e.kind
	if e.kind == tar.TypeSymlink {
		return checkLink(name, e.link)
	}
	return nil
}

func cleanName(name string) (string, error) {
	switch {
	case name == "" || !utf8.ValidString(name) || strings.ContainsAny(name, "\\\x00"):
		return "", refuse(name, "is not a usable file name")
	case len(name) > 1024:
		return "", refuse(name[:64], "has a name that is too long")
	case strings.HasPrefix(name, "/") || len(name) > 1 && name[1] == ':':
		return "", refuse(name, "has an absolute path")
	}
	clean := path.Clean(name)
	if clean == ".." || strings.HasPrefix(clean, "../") {
		return "", refuse(name, "leads out of the archive")
	}
	return clean, nil
}

// checkLink allows targets that first go up from the link's directory and then
// only down. Directories above an entry are never links, so going up is safe.
// Going down may pass other links, which keep the same rule. So no chain of
// links can leave the archive.
func checkLink(name, target string) error {
	switch {
	case target == "" || !utf8.ValidString(target) || strings.ContainsAny(target, "\\\x00"):
		return refuse(name, "is a link with an invalid target")
	case strings.HasPrefix(target, "/") || len(target) > 1 && target[1] == ':':
		return refuse(name, "is a link to an absolute path")
	case path.Clean(target) != strings.TrimSuffix(target, "/"):
		return refuse(name, "is a link whose target goes down and up again; use the shortest path")
	}
	to := path.Join(path.Dir(name), target)
	if to == ".." || strings.HasPrefix(to, "../") {
		return refuse(name, "is a link that leads out of the archive")
	}
	return nil
}

func refuse(name, format string, args ...any) error {
	return codersdk.Errorf(codersdk.CodeInvalid, "The archive is refused: %.200q %s", name, fmt.Sprintf(format, args...))
}

// Size formats a number of bytes for users.
func Size(n int64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.4g MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.4g KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}
