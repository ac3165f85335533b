package devcontainer

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Bounds of a scan for dev containers.
const (
	maxDepth   = 6       // directories below the agent's
	maxEntries = 50_000  // directory entries per scan
	maxFound   = 32      // discovered configurations
	maxConfig  = 1 << 20 // bytes of a configuration
)

// scan discovers configurations in repositories. Without now it does so only if
// the last scan is older than rescan.
func (s *Set) scan(now bool) {
	if !s.c.Discover || s.c.Dir == "" {
		return
	}
	s.mu.Lock()
	ctx := s.ctx
	if ctx == nil || !now && time.Since(s.scanned) < rescan {
		s.mu.Unlock()
		return
	}
	s.scanned = time.Now()
	s.mu.Unlock()
	found := s.tools.discover(ctx, s.c.Dir)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range found {
		known := slices.IndexFunc(s.items, func(it *item) bool { return it.shown.WorkspaceFolder == f.folder && it.config() == f.config })
		custom := quickLook(f.config)
		if known >= 0 {
			s.items[known].found = true
			continue
		}
		if len(s.items) >= maxItems {
			break
		}
		s.items = append(s.items, &item{shown: s.newItem(f.folder, f.config), found: true, ignored: custom.Ignore, autostart: custom.AutoStart})
		s.signal()
	}
}

// discovered is a configuration in a repository.
type discovered struct{ folder, config string }

// discover finds configurations in the git repositories below a directory:
// .devcontainer/devcontainer.json, .devcontainer.json and
// .devcontainer/NAME/devcontainer.json, in the repository or one of its
// directories, unless git ignores them.
func (t tools) discover(ctx context.Context, dir string) []discovered {
	w := walk{}
	w.scanDirectory(ctx, dir, "", 0)
	byRepo := map[string][]discovered{}
	for i, f := range w.found {
		byRepo[w.repos[i]] = append(byRepo[w.repos[i]], f)
	}
	out := []discovered{}
	for repo, found := range byRepo {
		ignored := t.ignored(ctx, repo, found)
		for _, f := range found {
			if !ignored[f.config] {
				out = append(out, f)
			}
		}
	}
	slices.SortFunc(out, func(a, b discovered) int { return strings.Compare(a.config, b.config) })
	return out
}

// walk is the state of one scan.
type walk struct {
	entries int
	found   []discovered
	repos   []string // repository of each found configuration
}

// scanDirectory scans one directory, which is in repo unless that is "".
func (w *walk) scanDirectory(ctx context.Context, dir, repo string, depth int) {
	if ctx.Err() != nil || depth > maxDepth || w.entries > maxEntries || len(w.found) >= maxFound {
		return
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	w.entries += len(list)
	if slices.ContainsFunc(list, func(e fs.DirEntry) bool { return e.Name() == ".git" }) {
		repo = dir
	}
	for _, e := range list {
		switch name := e.Name(); {
		case repo != "" && name == ".devcontainer.json" && e.Type().IsRegular():
			w.add(repo, dir, filepath.Join(dir, name))
		case repo != "" && name == ".devcontainer" && e.IsDir():
			w.configs(repo, dir)
		case e.IsDir() && !strings.HasPrefix(name, ".") && name != "node_modules" && name != "vendor":
			w.scanDirectory(ctx, filepath.Join(dir, name), repo, depth+1)
		}
	}
}

// configs scans a .devcontainer directory.
func (w *walk) configs(repo, folder string) {
	dir := filepath.Join(folder, ".devcontainer")
	w.add(repo, folder, filepath.Join(dir, "devcontainer.json"))
	list, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	w.entries += len(list)
	for _, e := range list {
		if e.IsDir() {
			w.add(repo, folder, filepath.Join(dir, e.Name(), "devcontainer.json"))
		}
	}
}

func (w *walk) add(repo, folder, config string) {
	if fi, err := os.Stat(config); err == nil && fi.Mode().IsRegular() && len(w.found) < maxFound {
		w.found, w.repos = append(w.found, discovered{folder, config}), append(w.repos, repo)
	}
}

// ignored returns the configurations that git ignores; none without git.
func (t tools) ignored(ctx context.Context, repo string, found []discovered) map[string]bool {
	out := map[string]bool{}
	if t.find(git) == "" {
		return out
	}
	var in bytes.Buffer
	for _, f := range found {
		in.WriteString(f.config + "\x00")
	}
	answer, _ := t.run(ctx, questionTimeout, &in, git, "-C", repo, "check-ignore", "-z", "--stdin") // fails when nothing is ignored
	for path := range strings.SplitSeq(string(answer), "\x00") {
		out[path] = true
	}
	return out
}

// quickLook reads the "coder" customizations of a configuration without the
// devcontainer CLI, which takes about a second. It returns none for an invalid
// configuration.
func quickLook(config string) customization {
	var c struct {
		Customizations struct {
			Coder customization `json:"coder"`
		} `json:"customizations"`
	}
	fi, err := os.Stat(config)
	if err != nil || fi.Size() > maxConfig {
		return customization{}
	}
	if b, err := os.ReadFile(config); err == nil && json.Unmarshal(standard(b), &c) == nil {
		return c.Customizations.Coder
	}
	return customization{}
}

// standard converts JSON with comments and trailing commas to JSON.
func standard(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		switch {
		case b[i] == '"':
			begin := i
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
			out = append(out, b[begin:min(i+1, len(b))]...)
		case bytes.HasPrefix(b[i:], []byte("//")):
			for i < len(b) && b[i] != '\n' {
				i++
			}
		case bytes.HasPrefix(b[i:], []byte("/*")):
			end := bytes.Index(b[i+2:], []byte("*/"))
			if end < 0 {
				return out
			}
			i += end + 3
		case b[i] == '}' || b[i] == ']':
			out = append(bytes.TrimRight(bytes.TrimRight(out, " \t\r\n"), ","), b[i])
		default:
			out = append(out, b[i])
		}
	}
	return out
}
