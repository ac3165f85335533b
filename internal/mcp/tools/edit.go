package tools

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// edit replaces one text by another.
type edit struct {
	Search  string `json:"search" jsonschema:"Text to replace, which occurs exactly once" min:"1" max:"65536"`
	Replace string `json:"replace" jsonschema:"Text to insert instead" max:"65536"`
}

type editFileInput struct {
	inWorkspace
	inFile
	Edits []edit `json:"edits" jsonschema:"Replacements, in order" min:"1" max:"50"`
}

type fileEdits struct {
	inFile
	Edits []edit `json:"edits" jsonschema:"Replacements, in order" min:"1" max:"50"`
}

type editFilesInput struct {
	inWorkspace
	Files []fileEdits `json:"files" jsonschema:"Files to edit" min:"1" max:"20"`
}

func workspaceEditFile(ctx context.Context, c *Caller, in editFileInput) (string, error) {
	return workspaceEditFiles(ctx, c, editFilesInput{inWorkspace: in.inWorkspace, Files: []fileEdits{{inFile: in.inFile, Edits: in.Edits}}})
}

func workspaceEditFiles(ctx context.Context, c *Caller, in editFilesInput) (string, error) {
	err := withFiles(ctx, c, in.Workspace, func(f files) error {
		paths, contents := make([]string, len(in.Files)), make([][]byte, len(in.Files))
		for i, file := range in.Files {
			var err error
			if paths[i], err = f.resolve(ctx, file.Path); err != nil {
				return err
			}
			b, size, err := f.read(paths[i], 0, maxEditable)
			if err != nil {
				return err
			}
			if size > maxEditable {
				return codersdk.Invalid("path", "%.200q has %d bytes, more than the %d that can be edited", paths[i], size, maxEditable)
			}
			if contents[i], err = applyEdits(paths[i], b, file.Edits); err != nil {
				return err
			}
		}
		for i, content := range contents {
			if err := f.replace(paths[i], content); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	return "The edits are written.", nil
}

// applyEdits returns the content after the edits.
func applyEdits(path string, content []byte, edits []edit) ([]byte, error) {
	for i, e := range edits {
		if n := bytes.Count(content, []byte(e.Search)); n != 1 {
			return nil, codersdk.Invalid("edits", "the search text of edit %d occurs %d times in %.200q; it must occur exactly once", i+1, n, path)
		}
		content = bytes.Replace(content, []byte(e.Search), []byte(e.Replace), 1)
	}
	return content, nil
}

// resolve returns the absolute path that a path of a tool names.
func (f files) resolve(ctx context.Context, name string) (string, error) {
	if rest, ok := strings.CutPrefix(name, "~"); ok && (rest == "" || rest[0] == '/') {
		home, err := f.home(ctx)
		if err != nil {
			return "", err
		}
		return path.Join(home, rest), nil
	}
	if path.IsAbs(name) {
		return path.Clean(name), nil
	}
	dir, err := f.RealPath(".")
	if err != nil {
		return "", explainFile(".", err)
	}
	return path.Join(dir, name), nil
}

// replace writes a file whole: readers see the old or the new content. The mode of
// an existing file stays, and a link stays a link.
func (f files) replace(name string, content []byte) error {
	if real, err := f.RealPath(name); err == nil {
		name = real
	}
	mode := fs.FileMode(0o644)
	info, err := f.Stat(name)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return codersdk.Invalid("path", "%.200q is not a regular file", name)
	case err == nil:
		mode = info.Mode().Perm()
	case !errors.Is(err, fs.ErrNotExist):
		return explainFile(name, err)
	}
	if err := f.MkdirAll(path.Dir(name)); err != nil {
		return explainFile(path.Dir(name), err)
	}
	temporary := path.Join(path.Dir(name), ".coder-"+uuid.NewString())
	w, err := f.Create(temporary)
	if err != nil {
		return explainFile(name, err)
	}
	_, err = w.Write(content)
	err = errors.Join(err, w.Chmod(mode), w.Close())
	if err == nil {
		err = f.PosixRename(temporary, name)
	}
	if err != nil {
		_ = f.Remove(temporary) // the first error counts
	}
	return explainFile(name, err)
}
