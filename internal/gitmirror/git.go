package gitmirror

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/gitmirror/seed"
)

// maxOutput bounds what git prints, in bytes: the refs of a repository.
const maxOutput = 64 << 20

// settings are what git always gets. The credentials go to no other host than that of the remote, so git follows no
// redirect.
var settings = [][2]string{
	{"http.followRedirects", "false"},
	{"http.lowSpeedLimit", "1000"}, // bytes per second, for
	{"http.lowSpeedTime", "60"},    // seconds
	{"credential.helper", ""},
	{"core.hooksPath", os.DevNull},
	{"gc.auto", "0"},
	{"maintenance.auto", "false"},
	{"fetch.unpackLimit", "1"}, // every fetch makes a pack
	{"repack.writeBitmaps", "false"},
}

// git runs git and returns what it prints. The credentials of the remote are in its environment, which other users of
// the machine cannot read, as they can read arguments.
func (m *Mirror) git(ctx context.Context, r Remote, stdin string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, m.c.Git, args...)
	cmd.Env = environment(r)
	cmd.Stdin = strings.NewReader(stdin)
	cmd.WaitDelay = 5 * time.Second // programs that git started may keep the pipes open
	stdout, stderr := &limited{most: maxOutput}, &limited{most: 4 << 10}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, bytes.TrimSpace(stderr.Bytes()))
	case stdout.full:
		return nil, fmt.Errorf("git %s: the output is longer than %d bytes", args[0], maxOutput)
	}
	return stdout.Bytes(), nil
}

// limited keeps the beginning of what is written.
type limited struct {
	bytes.Buffer
	most int
	full bool
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.most-l.Len())
	l.full = l.full || n < len(p)
	l.Buffer.Write(p[:n])
	return len(p), nil
}

// environment returns that of the server, for example with the proxy for outgoing requests, without its secrets and
// without settings of git.
func environment(r Remote) []string {
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "CODER_") || strings.HasPrefix(kv, "PG") || strings.HasPrefix(kv, "GIT_") && !strings.HasPrefix(kv, "GIT_SSL_")
	})
	env = append(env,
		"LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=",
		"GIT_ALLOW_PROTOCOL=http:https",
	)
	all := settings
	if r.Password != "" {
		basic := base64.StdEncoding.EncodeToString([]byte(r.Username + ":" + r.Password))
		all = append(slices.Clone(all), [2]string{"http.extraHeader", "Authorization: Basic " + basic})
	}
	for i, s := range all {
		n := strconv.Itoa(i)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+s[0], "GIT_CONFIG_VALUE_"+n+"="+s[1])
	}
	return append(env, "GIT_CONFIG_COUNT="+strconv.Itoa(len(all)))
}

// listTimeout bounds the request for the refs of a remote.
const listTimeout = 30 * time.Second

// list returns the branches and tags that the remote shows with these credentials.
func (m *Mirror) list(ctx context.Context, r Remote) (seed.Repository, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	out, err := m.git(ctx, r, "", "ls-remote", "--symref", r.URL, "HEAD", "refs/heads/*", "refs/tags/*")
	if err != nil {
		return seed.Repository{}, err
	}
	return parseRefs(out)
}

// parseRefs parses what git ls-remote --symref prints: lines with an object and a ref, or with the branch of HEAD.
func parseRefs(out []byte) (seed.Repository, error) {
	r := seed.Repository{Refs: map[string]string{}}
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		object, ref, ok := strings.Cut(lines.Text(), "\t")
		branch, symbolic := strings.CutPrefix(object, "ref: ")
		switch {
		case !ok:
			return r, errors.New("git ls-remote: a line has no tab")
		case symbolic && ref == "HEAD" && strings.HasPrefix(branch, "refs/heads/"):
			r.Head = branch
		case symbolic, ref == "HEAD", strings.HasSuffix(ref, "^{}"): // the last is what a tag points to
		case strings.HasPrefix(ref, "refs/heads/"), strings.HasPrefix(ref, "refs/tags/"):
			r.Refs[ref] = object
		}
	}
	if _, exists := r.Refs[r.Head]; !exists {
		r.Head = ""
	}
	return r, lines.Err()
}

// refsOf returns the refs of a bare repository in the form of git ls-remote.
func (m *Mirror) refsOf(ctx context.Context, dir string) (map[string]string, error) {
	out, err := m.git(ctx, Remote{}, "", "-C", dir, "for-each-ref", "--format=%(objectname)%09%(refname)", "refs/heads", "refs/tags")
	if err != nil {
		return nil, err
	}
	r, err := parseRefs(out)
	return r.Refs, err
}

// hasUnreachable reports whether the objects of former refs have some that are not reachable from the refs of now.
func (m *Mirror) hasUnreachable(ctx context.Context, dir string, former, now map[string]string) (bool, error) {
	current := map[string]bool{}
	for _, object := range now {
		current[object] = true
	}
	var in strings.Builder
	var left bool
	for _, object := range former {
		if !current[object] {
			left = true
			fmt.Fprintln(&in, object)
		}
	}
	if !left {
		return false, nil
	}
	for object := range current {
		fmt.Fprintln(&in, "^"+object)
	}
	out, err := m.git(ctx, Remote{}, in.String(), "-C", dir, "rev-list", "--objects", "--max-count=1", "--stdin")
	return len(out) > 0, err
}
