package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/internal/gitmirror/hosttest"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// TestGitMirror clones a repository in a workspace: first from its host, which makes the mirror copy it, then from the
// mirror, also after kill -9 of the server.
func TestGitMirror(t *testing.T) {
	host := hosttest.New(t)
	url := host.Create(t, "shop")
	for _, content := range []string{"two\n", "three\n"} {
		host.Commit(t, "shop", "main", "README", content)
	}
	p := newTestServer(t)
	serve := func() {
		kill(p.server)
		p.server = p.start(t, filepath.Join(p.dir, "server.log"), p.env("CODER_GIT_MIRROR=true",
			"CODER_EXTERNAL_AUTH_0_ID=git", "CODER_EXTERNAL_AUTH_0_TYPE=gitea", "CODER_EXTERNAL_AUTH_0_CLIENT_ID=id",
			"CODER_EXTERNAL_AUTH_0_CLIENT_SECRET=secret", "CODER_EXTERNAL_AUTH_0_AUTH_URL="+host.URL+"/login/oauth/authorize"),
			"server", "--http-address", p.address, "--access-url", "http://"+p.address)
		awaitHealth(t, p.address)
	}
	serve()
	template, err := filepath.Abs("../examples/templates/local")
	if err != nil {
		t.Fatal(err)
	}
	p.run(t, "templates", "push", "local", "--directory", template, "--yes")
	p.run(t, "create", "dev", "--template", "local", "--use-parameter-defaults", "--yes")
	inside := func(command string) string { return p.run(t, "ssh", "dev", command) }

	if out := inside("coder git clone " + url + " first"); !strings.Contains(out, "in the background") {
		t.Errorf("the first clone: %s", out)
	}
	testwait.Until(t, "the history is complete", func() bool {
		return strings.Contains(inside("git -C first rev-parse --is-shallow-repository"), "false")
	})
	before := host.Requests()
	if out := inside("coder git clone " + url + " second && git -C second log --format=%s && cat second/README"); !strings.Contains(out, "change README\nchange README\nchange README\nthree") {
		t.Errorf("the second clone: %s", out)
	}
	serve()
	if out := inside("coder git clone " + url + " third && git -C third log --format=%s"); !strings.Contains(out, "from the git mirror") {
		t.Errorf("the clone after a crash: %s", out)
	}
	if n := host.Requests() - before; n != 0 {
		t.Errorf("%d requests to the host for objects that the mirror has", n)
	}
	if out := inside("coder git clone " + url + " first"); !strings.Contains(out, "already a clone") {
		t.Errorf("again: %s", out)
	}
	p.run(t, "delete", "dev", "--yes")
}
