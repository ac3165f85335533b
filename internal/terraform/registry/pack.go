package registry

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/seed-2a7f8fe7/coder/internal/rule/templatesource"
)

// Bounds of a module.
const (
	maxModule     = 64 << 20 // bytes of its files, and of a zip with them
	maxRepository = 4 << 30  // unpacked bytes of an archive with other files
	maxFiles      = 10000    // of a module
	maxLinks      = 10       // symbolic links on the way to a file
)

// moduleFiles are the files of a module by their path in its directory.
type moduleFiles map[string]moduleFile

type moduleFile struct {
	data       []byte
	executable bool
	link       string // target of a symbolic link, "" for files
}

// unpack reads the files of the module from an archive.
func (s source) unpack(r io.Reader) (moduleFiles, error) {
	u := unpacker{source: s, files: moduleFiles{}}
	read := u.tar
	if s.zipped {
		read = u.zip
	}
	if err := read(r); err != nil {
		return nil, err
	}
	if len(u.files) == 0 {
		return nil, fmt.Errorf("its archive has no files in the directory %q", s.dir)
	}
	u.files.resolve()
	return u.files, u.files.check(s.dir)
}

// unpacker collects the files of a module.
type unpacker struct {
	source
	files moduleFiles
	dir   string // that the pattern of the source stands for, "" before the first file
	kept  int    // bytes
}

// PackModule returns the zip of a module whose files are a tar. Its errors are for the user who made the tar.
func PackModule(r io.Reader) ([]byte, error) {
	u := unpacker{files: moduleFiles{}}
	if err := u.untar(r); err != nil {
		return nil, err
	}
	u.files.resolve()
	if !u.files.configured() {
		return nil, errors.New("its directory has no .tf file")
	}
	return u.files.pack()
}

// configured reports whether the top directory has a file that Terraform reads.
func (m moduleFiles) configured() bool {
	for name := range m {
		if !strings.Contains(name, "/") && templatesource.IsConfiguration(name) {
			return true
		}
	}
	return false
}

func (u *unpacker) tar(r io.Reader) error {
	g, err := gzip.NewReader(r)
	if err != nil {
		return fmt.Errorf("its archive cannot be read: %w", err)
	}
	return u.untar(g)
}

func (u *unpacker) untar(r io.Reader) error {
	limited := &io.LimitedReader{R: r, N: maxRepository}
	for t := tar.NewReader(limited); ; {
		h, err := t.Next()
		if limited.N <= 0 {
			return fmt.Errorf("its archive has more than %d bytes", int64(maxRepository))
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("its archive cannot be read: %w", err)
		}
		if h.Typeflag == tar.TypeReg || h.Typeflag == tar.TypeSymlink {
			if err := u.add(h.Name, h.FileInfo().Mode(), h.Linkname, t); err != nil {
				return err
			}
		}
	}
}

func (u *unpacker) zip(r io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(r, maxModule+1))
	if err != nil {
		return fmt.Errorf("its archive cannot be read: %w", err)
	}
	if len(data) > maxModule {
		return fmt.Errorf("its archive has more than %d bytes", maxModule)
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return fmt.Errorf("its archive cannot be read: %w", err)
	}
	for _, f := range z.File {
		if err := u.zipped(f); err != nil {
			return err
		}
	}
	return nil
}

func (u *unpacker) zipped(f *zip.File) error {
	mode := f.Mode()
	if !mode.IsRegular() && mode.Type() != fs.ModeSymlink {
		return nil
	}
	content, err := f.Open()
	if err != nil {
		return fmt.Errorf("its archive cannot be read: %w", err)
	}
	defer content.Close()
	link := ""
	if mode.Type() == fs.ModeSymlink {
		target, err := io.ReadAll(io.LimitReader(content, 4096))
		if err != nil {
			return fmt.Errorf("its archive cannot be read: %w", err)
		}
		link = string(target)
	}
	return u.add(f.Name, mode, link, content)
}

// add keeps a file that is in the directory of the module.
func (u *unpacker) add(name string, mode fs.FileMode, link string, r io.Reader) error {
	name, ok := u.inside(path.Clean("/" + name)[1:])
	if !ok {
		return nil
	}
	f := moduleFile{executable: mode&0o111 != 0, link: link}
	if link == "" {
		var err error
		if f.data, err = io.ReadAll(io.LimitReader(r, int64(maxModule-u.kept+1))); err != nil {
			return fmt.Errorf("its archive cannot be read: %w", err)
		}
	}
	u.files[name] = f
	if u.kept += len(f.data); u.kept > maxModule || len(u.files) > maxFiles {
		return fmt.Errorf("its files are more than %d or larger than %d bytes", maxFiles, maxModule)
	}
	return nil
}

// inside returns the path of a file in the directory of the module.
func (u *unpacker) inside(name string) (string, bool) {
	if u.source.dir == "" {
		return name, true
	}
	depth := strings.Count(u.source.dir, "/") + 1
	parts := strings.SplitN(name, "/", depth+1)
	if len(parts) <= depth {
		return "", false
	}
	dir := strings.Join(parts[:depth], "/")
	if fits, err := path.Match(u.source.dir, dir); err != nil || !fits || u.dir != "" && u.dir != dir {
		return "", false
	}
	u.dir = dir
	return parts[depth], true
}

// resolve replaces symbolic links by what they name in the module, and removes others.
func (m moduleFiles) resolve() {
	for name, f := range m {
		at := name
		for hops := 0; f.link != "" && hops < maxLinks; hops++ {
			at = path.Join(path.Dir(at), f.link)
			f = m[at]
		}
		if f.data == nil {
			delete(m, name)
		} else {
			m[name] = f
		}
	}
}

// parents matches a path that leads out of its directory.
var parents = regexp.MustCompile(`"(?:\.\./)+`)

// check returns an error if a module in a directory of an archive uses files outside of it.
func (m moduleFiles) check(dir string) error {
	if dir == "" || dir == "*" {
		return nil
	}
	for name, f := range m {
		if !templatesource.IsConfiguration(name) {
			continue
		}
		for _, up := range parents.FindAll(f.data, -1) {
			if len(up)/len("../") > strings.Count(name, "/") {
				return fmt.Errorf("its file %s uses a path outside of the module", name)
			}
		}
	}
	return nil
}

// pack returns the files as a zip without compression and times, so that equal files are equal archives.
func (m moduleFiles) pack() ([]byte, error) {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(m)) {
		h := &zip.FileHeader{Name: name, Method: zip.Store}
		mode := fs.FileMode(0o644)
		if m[name].executable {
			mode = 0o755
		}
		h.SetMode(mode)
		w, err := z.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(m[name].data); err != nil {
			return nil, err
		}
	}
	err := z.Close()
	return out.Bytes(), err
}
