// Package archive packs and unpacks the source of templates.
//
// A template's source travels and is kept as a tar: the client packs a
// directory, the server checks what was uploaded before it stores anything,
// the provisioner unpacks it into a work directory. Whoever uploads is not
// trusted by who unpacks, so the rules are the same on all three sides and
// live here: names are relative and stay below the top, links point to
// something inside and no entry lies behind a link, nothing but files,
// directories and symbolic links is allowed, and the count and the unpacked
// size are bounded before a byte is written. Unpacking works below an os.Root
// besides, so that what was in the directory before cannot lead out either.
//
// Packing the same files gives the same bytes whoever packs them, wherever
// and whenever: uploads are recognized by their hash.
//
// Zip files are accepted and given for people's convenience, by conversion.
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

	"github.com/seed-2a7f8fe7/coder"
)

// Limits bounds what an archive may unpack to.
type Limits struct {
	Entries int   // files, directories and links; at least 1
	Bytes   int64 // of all files together
	Ratio   int64 // unpacked bytes per packed byte of a compressed archive
}

// Upload are the limits for what people send: 10 MiB in 4,096 entries.
func Upload() Limits { return Limits{Entries: 4096, Bytes: 10 << 20, Ratio: 200} }

// Modules are the limits for the modules that Terraform downloaded: 100 MiB in 50,000 entries.
func Modules() Limits { return Limits{Entries: 50000, Bytes: 100 << 20, Ratio: 200} }

// entry is one thing in an archive, already judged.
type entry struct {
	name string // clean, slash-separated, relative
	kind byte   // tar.TypeReg, tar.TypeDir or tar.TypeSymlink
	exec bool
	link string // of a symbolic link
	size int64
}

// Check says whether a tar keeps the rules and the limits. Its errors are
// CodeInvalid and CodeTooLarge, fit for the person who made the archive.
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
		return coder.Errorf(coder.CodeInvalid, "The archive holds no files")
	}
	return err
}

// walk gives the entries of a tar in order, each with its content, stopping at
// the first that breaks a rule.
func walk(data []byte, l Limits, each func(entry, io.Reader) error) error {
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		return coder.Errorf(coder.CodeInvalid, "The archive is compressed with gzip; send a plain tar or a zip")
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

// broken says that an archive cannot be read, unless err says better.
func broken(err error) error {
	if _, ok := errors.AsType[*coder.Error](err); ok {
		return err
	}
	if errors.Is(err, tar.ErrHeader) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, tar.ErrFieldTooLong) {
		return coder.Errorf(coder.CodeInvalid, "The archive is broken or cut off").WithDetail("%v", err)
	}
	return err
}

// judge holds what has been seen of an archive to rule on what comes next.
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
	case '\x00': // how old tars mark a file
		e.kind = tar.TypeReg
	case tar.TypeLink:
		return e, refuse(h.Name, "is a hard link; only files, directories and symbolic links are allowed")
	default:
		return e, refuse(h.Name, "is a device or another special file; only files, directories and symbolic links are allowed")
	}
	return e, j.admit(&e)
}

// admit checks an entry against the rules and what came before, and cleans its name.
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
		return coder.Errorf(coder.CodeTooLarge, "The archive holds more than %d files", j.limits.Entries)
	}
	if e.kind == tar.TypeReg {
		if e.size < 0 || e.size > j.limits.Bytes-j.bytes {
			return coder.Errorf(coder.CodeTooLarge, "The archive unpacks to more than %s", Size(j.limits.Bytes))
		}
		j.bytes += e.size
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if k, seen := j.kinds[dir]; seen && k != tar.TypeDir {
			return refuse(name, "lies below %q, which is no directory", dir)
		}
		j.kinds[dir] = tar.TypeDir
	}
	if k, seen := j.kinds[name]; seen && (k != e.kind || k == tar.TypeSymlink) {
		return refuse(name, "is in the archive twice")
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

// checkLink allows targets that go up from the link's own directory first and
// then only down. Directories above an entry are never links, so going up is
// what it looks like; going down may pass other links, of which the same
// holds. Hence no chain of links can leave.
func checkLink(name, target string) error {
	switch {
	case target == "" || !utf8.ValidString(target) || strings.ContainsAny(target, "\\\x00"):
		return refuse(name, "is a link without a usable target")
	case strings.HasPrefix(target, "/") || len(target) > 1 && target[1] == ':':
		return refuse(name, "is a link to an absolute path")
	case path.Clean(target) != strings.TrimSuffix(target, "/"):
		return refuse(name, "is a link with a target that turns back; use the shortest path")
	}
	to := path.Join(path.Dir(name), target)
	if to == ".." || strings.HasPrefix(to, "../") {
		return refuse(name, "is a link that leads out of the archive")
	}
	return nil
}

func refuse(name, format string, args ...any) error {
	return coder.Errorf(coder.CodeInvalid, "The archive is refused: %.200q %s", name, fmt.Sprintf(format, args...))
}

// Size writes a number of bytes for people.
func Size(n int64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.4g MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.4g KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}
