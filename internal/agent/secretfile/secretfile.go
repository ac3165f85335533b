// Package secretfile writes secrets to files below the home directory.
//
// Each file is replaced atomically and has the mode 0600. A list in the home directory, which survives
// restarts of the workspace, records the files with the hashes of their content. So a file whose secret is
// gone is removed, unless something else changed it since. A symbolic link that leads out of the home
// directory is not followed.
package secretfile

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// List is the path of the list of written files, below the home directory.
const List = ".cache/coder/user-secret-files.json"

// File is a secret and its place: a path that begins with ~/, or an absolute path below the home directory.
type File struct {
	Path  string
	Value []byte
}

// Sync writes the files, and removes those that an earlier call wrote and that are not among them. An error
// names the file that it concerns; the others are written nevertheless. Calls must not be concurrent.
func Sync(home string, files []File) []error {
	root, err := os.OpenRoot(home)
	if errors.Is(err, fs.ErrNotExist) && len(files) == 0 {
		return nil
	}
	if err != nil {
		return []error{fmt.Errorf("open the home directory: %w", err)}
	}
	defer root.Close()
	var errs []error
	before, after := readList(root), map[string]string{}
	for _, f := range files {
		name, err := below(home, f.Path)
		if err == nil {
			err = write(root, name, f.Value)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("write %s: %w", f.Path, err))
			continue
		}
		after[name] = hash(f.Value)
	}
	for name, sum := range before {
		if _, still := after[name]; still {
			continue
		}
		if err := remove(root, name, sum); err != nil {
			errs = append(errs, fmt.Errorf("remove %s: %w", name, err))
		}
	}
	if len(before) == 0 && len(after) == 0 {
		return errs
	}
	list, err := json.Marshal(after)
	if err == nil {
		err = write(root, List, list)
	}
	if err != nil {
		errs = append(errs, fmt.Errorf("record the files: %w", err))
	}
	return errs
}

// below returns a path relative to the home directory.
func below(home, p string) (string, error) {
	name, ok := strings.CutPrefix(p, "~/")
	if !ok {
		rel, err := filepath.Rel(home, filepath.FromSlash(p))
		if err != nil {
			return "", err
		}
		name = filepath.ToSlash(rel)
	}
	if name = path.Clean(name); !filepath.IsLocal(filepath.FromSlash(name)) || name == "." {
		return "", fmt.Errorf("the file is not below the home directory %s; change the path of the secret", home)
	}
	return name, nil
}

// write replaces a file atomically.
func write(root *os.Root, name string, value []byte) (err error) {
	if info, err := root.Stat(name); err == nil && info.Mode().IsRegular() && info.Mode().Perm() == 0o600 {
		if now, err := root.ReadFile(name); err == nil && bytes.Equal(now, value) {
			return nil
		}
	}
	if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	temporary := path.Join(path.Dir(name), ".coder-"+rand.Text())
	f, err := root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(value)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = root.Rename(temporary, name)
	}
	if err != nil {
		err = errors.Join(err, root.Remove(temporary))
	}
	return err
}

// remove removes a file that has the content with a hash.
func remove(root *os.Root, name, sum string) error {
	now, err := root.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && hash(now) != sum {
		return errors.New("the file was changed, so it stays although its secret is gone; remove it yourself")
	}
	if err != nil {
		return err
	}
	return root.Remove(name)
}

func readList(root *os.Root) map[string]string {
	var list map[string]string
	b, err := root.ReadFile(List)
	if err == nil {
		err = json.Unmarshal(b, &list)
	}
	if err != nil { // the first time, or damaged: then files stay
		return map[string]string{}
	}
	return list
}

func hash(value []byte) string {
	sum := sha256.Sum256(value)
	return hex.EncodeToString(sum[:])
}
