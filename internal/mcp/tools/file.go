package tools

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/mcp/machine"
	"github.com/seed-2a7f8fe7/coder/internal/mcp/toolkit"
)

// Bounds of files.
const (
	maxEntries  = 1000    // of a directory that is listed
	maxEditable = 4 << 20 // bytes of a file that is edited
)

// fileTools are the tools on files of a workspace.
var fileTools = []Tool{
	toolkit.New(toolkit.Spec{
		Name: "coder_workspace_ls", Title: "List a directory of a workspace",
		Description: "List a directory of a running workspace.",
		Scopes:      reach,
	}, workspaceLs),
	toolkit.New(toolkit.Spec{
		Name: "coder_workspace_read_file", Title: "Read a file of a workspace",
		Description: "Read a part of a file of a running workspace, at most 64 KiB. Content that is not UTF-8 is returned in base64.",
		Scopes:      reach,
	}, workspaceReadFile),
	toolkit.New(toolkit.Spec{
		Name: "coder_workspace_write_file", Title: "Write a file of a workspace",
		Description: "Create or overwrite a file of a running workspace. Missing directories are created.",
		Effect:      toolkit.Destructive, Idempotent: true,
		Scopes: reach,
	}, workspaceWriteFile),
	toolkit.New(toolkit.Spec{
		Name: "coder_workspace_edit_file", Title: "Edit a file of a workspace",
		Description: "Replace texts in a file of a running workspace. Each text to replace must occur exactly once.",
		Effect:      toolkit.Destructive,
		Scopes:      reach,
	}, workspaceEditFile),
	toolkit.New(toolkit.Spec{
		Name: "coder_workspace_edit_files", Title: "Edit files of a workspace",
		Description: "Replace texts in several files of a running workspace. If a text does not occur exactly once, no file is changed.",
		Effect:      toolkit.Destructive,
		Scopes:      reach,
	}, workspaceEditFiles),
}

// inFile names a file or directory.
type inFile struct {
	Path string `json:"path" jsonschema:"Path in the workspace: absolute, or relative to the agent's directory; ~/ is the home directory" min:"1" max:"4096"`
}

// withFiles calls do with the files of a workspace.
func withFiles(ctx context.Context, c *Caller, workspace string, do func(files) error) error {
	m, err := c.dial(ctx, workspace)
	if err != nil {
		return err
	}
	defer m.Close() //nolint:errcheck // the result is known
	client, err := m.Files(ctx)
	if err != nil {
		return err
	}
	return do(files{client, m.Home})
}

type files struct {
	*machine.Files
	home func(context.Context) (string, error)
}

// explainFile names the path in an error of a file.
func explainFile(path string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return codersdk.Invalid("path", "%.200q does not exist in the workspace", path)
	case errors.Is(err, fs.ErrPermission):
		return codersdk.Invalid("path", "%.200q: permission denied in the workspace", path)
	}
	return codersdk.Errorf(codersdk.CodeUnavailable, "Cannot access %.200q in the workspace: %s", path, err)
}

type fileView struct {
	Name      string    `json:"name"`
	Directory bool      `json:"directory,omitempty"`
	Link      bool      `json:"link,omitempty"`
	Size      int64     `json:"size"`
	Mode      string    `json:"mode"`
	Modified  time.Time `json:"modified"`
}

type lsInput struct {
	inWorkspace
	Path string `json:"path,omitempty" jsonschema:"Directory, as for files (default: the agent's directory)" max:"4096" default:"."`
}

type lsOutput struct {
	Path    string     `json:"path"`
	Entries []fileView `json:"entries"`
	Omitted int        `json:"omitted,omitempty"` // entries beyond the maximum
}

func workspaceLs(ctx context.Context, c *Caller, in lsInput) (out lsOutput, err error) {
	return out, withFiles(ctx, c, in.Workspace, func(f files) error {
		path, err := f.resolve(ctx, in.Path)
		if err != nil {
			return err
		}
		entries, err := f.ReadDirContext(ctx, path)
		if err != nil {
			return explainFile(path, err)
		}
		slices.SortFunc(entries, func(a, b fs.FileInfo) int { return strings.Compare(a.Name(), b.Name()) })
		out = lsOutput{Path: path, Entries: []fileView{}, Omitted: max(0, len(entries)-maxEntries)}
		for _, e := range entries[:len(entries)-out.Omitted] {
			out.Entries = append(out.Entries, fileView{
				Name: e.Name(), Directory: e.IsDir(), Link: e.Mode()&fs.ModeSymlink != 0, Size: e.Size(), Mode: e.Mode().String(), Modified: e.ModTime(),
			})
		}
		return nil
	})
}

type readInput struct {
	inWorkspace
	inFile
	Offset int `json:"offset,omitempty" jsonschema:"First byte to read" min:"0" max:"2147483647" default:"0"`
	Limit  int `json:"limit,omitempty" jsonschema:"Maximum number of bytes" min:"1" max:"65536" default:"65536"`
}

type readOutput struct {
	Size     int64  `json:"size"` // of the file
	Offset   int    `json:"offset"`
	Encoding string `json:"encoding"`
	Content  string `json:"content"`
	More     bool   `json:"more,omitempty"` // the file goes on
}

func workspaceReadFile(ctx context.Context, c *Caller, in readInput) (out readOutput, err error) {
	return out, withFiles(ctx, c, in.Workspace, func(f files) error {
		path, err := f.resolve(ctx, in.Path)
		if err != nil {
			return err
		}
		b, size, err := f.read(path, int64(in.Offset), in.Limit)
		if err != nil {
			return err
		}
		out = readOutput{Size: size, Offset: in.Offset, Encoding: "utf-8", Content: string(b), More: int64(in.Offset+len(b)) < size}
		if !utf8.Valid(b) {
			out.Encoding, out.Content = "base64", base64.StdEncoding.EncodeToString(b)
		}
		return nil
	})
}

// read reads at most limit bytes of a regular file.
func (f files) read(path string, offset int64, limit int) ([]byte, int64, error) {
	info, err := f.Stat(path)
	if err != nil {
		return nil, 0, explainFile(path, err)
	}
	if !info.Mode().IsRegular() {
		return nil, 0, codersdk.Invalid("path", "%.200q is not a regular file", path)
	}
	r, err := f.Open(path)
	if err != nil {
		return nil, 0, explainFile(path, err)
	}
	defer r.Close() //nolint:errcheck // only read
	if _, err := r.Seek(offset, io.SeekStart); err != nil {
		return nil, 0, explainFile(path, err)
	}
	b, err := io.ReadAll(io.LimitReader(r, int64(limit)))
	return b, info.Size(), explainFile(path, err)
}

type writeInput struct {
	inWorkspace
	inFile
	Content  string `json:"content" jsonschema:"New content of the file" max:"1048576"`
	Encoding string `json:"encoding,omitempty" jsonschema:"Encoding of the content" enum:"utf-8,base64" default:"utf-8"`
}

func workspaceWriteFile(ctx context.Context, c *Caller, in writeInput) (string, error) {
	content := []byte(in.Content)
	if in.Encoding == "base64" {
		var err error
		if content, err = base64.StdEncoding.DecodeString(in.Content); err != nil {
			return "", codersdk.Invalid("content", "is not valid base64: %s", err)
		}
	}
	err := withFiles(ctx, c, in.Workspace, func(f files) error {
		path, err := f.resolve(ctx, in.Path)
		if err != nil {
			return err
		}
		return f.replace(path, content)
	})
	if err != nil {
		return "", err
	}
	return "The file is written.", nil
}
