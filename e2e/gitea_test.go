package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/seed-2a7f8fe7/coder/internal/testport"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// gitea is a real Gitea server with one user, who has the password of scripts.
type gitea struct {
	program, dir, address string
	server                *exec.Cmd
}

const giteaUser = "ann"

// newGitea starts a Gitea from the directory of tools/gitea/get. Its tokens
// expire after five seconds.
func newGitea(t *testing.T, built string) *gitea {
	t.Helper()
	g := &gitea{program: filepath.Join(built, "gitea"), dir: t.TempDir(), address: testport.FreeAddress(t)}
	host, port, _ := strings.Cut(g.address, ":")
	config := fmt.Sprintf(`I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true
WORK_PATH = %[1]s
[server]
HTTP_ADDR = %[3]s
HTTP_PORT = %[4]s
ROOT_URL = http://%[3]s:%[4]s/
DISABLE_SSH = true
STATIC_ROOT_PATH = %[2]s
[database]
DB_TYPE = sqlite3
[security]
INSTALL_LOCK = true
[log]
MODE = console
LEVEL = Warn
[oauth2]
ACCESS_TOKEN_EXPIRATION_TIME = 5
`, g.dir, filepath.Join(built, "static"), host, port)
	if err := os.WriteFile(filepath.Join(g.dir, "app.ini"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"migrate"},
		{"admin", "user", "create", "--username", giteaUser, "--password", password, "--email", giteaUser + "@example.com", "--must-change-password=false"},
	} {
		if out, err := g.command(args...).CombinedOutput(); err != nil {
			t.Fatalf("gitea %s: %v\n%s", args[0], err, out)
		}
	}
	g.serve(t)
	return g
}

func (g *gitea) command(args ...string) *exec.Cmd {
	cmd := exec.Command(g.program, append(args, "--config", filepath.Join(g.dir, "app.ini"))...)
	cmd.Dir = g.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + g.dir, "USER=root"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

func (g *gitea) url() string { return "http://" + g.address }

func (g *gitea) serve(t *testing.T) {
	t.Helper()
	g.server = g.command("web")
	var log bytes.Buffer
	g.server.Stdout, g.server.Stderr = &log, &log
	if err := g.server.Start(); err != nil {
		t.Fatal(err)
	}
	cmd := g.server
	t.Cleanup(func() {
		kill(cmd)
		if t.Failed() {
			t.Logf("Gitea:\n%s", log.String())
		}
	})
	testwait.Until(t, "Gitea answers", func() bool {
		resp, err := http.Get(g.url() + "/api/healthz")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
}

// create creates an object with the API of Gitea.
func (g *gitea) create(t *testing.T, path string, body, answer any) {
	t.Helper()
	b, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.url()+"/api/v1"+path, bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth(giteaUser, password)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(answer); err != nil || resp.StatusCode != http.StatusCreated {
		t.Fatalf("POST %s at Gitea: %s, %v", path, resp.Status, err)
	}
}

// visit links the account or revokes the access in a browser. page is the URL that git
// prints.
func (g *gitea) visit(t *testing.T, page, which string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "node", "../web/test/journey-gitea.mjs", page, password, g.url(), giteaUser, which)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s in the browser: %v\n%s", which, err, out)
	}
}

// TestGitea uses git in a workspace with a private repository of a real Gitea. git
// prompts once and waits until the user has linked the account in a browser. It does
// not prompt again when tokens expire or Gitea is down for a time. After the user has
// revoked the access in Gitea, git prompts again.
func TestGitea(t *testing.T) {
	built := os.Getenv("CODER_TEST_GITEA")
	if built == "" {
		t.Skip("needs a Gitea: run make test-gitea")
	}
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	p := &testServer{bin: bin, dir: t.TempDir(), address: testport.FreeAddress(t), tmp: shortDir(t)}
	base := "http://" + p.address
	g := newGitea(t, built)
	var app struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
	}
	g.create(t, "/user/applications/oauth2", map[string]any{
		"name": "coder", "confidential_client": true, "redirect_uris": []string{base + "/external-auth/gitea/callback"},
	}, &app)
	g.create(t, "/user/repos", map[string]any{"name": "private", "private": true, "auto_init": true}, new(struct{}))

	p.provideDatabase(t)
	t.Cleanup(p.killAgents)
	p.server = p.start(t, filepath.Join(p.dir, "server.log"), p.env("CODER_EXTERNAL_AUTH_0_TYPE=gitea", "CODER_EXTERNAL_AUTH_0_CLIENT_ID="+app.ID,
		"CODER_EXTERNAL_AUTH_0_CLIENT_SECRET="+app.Secret, "CODER_EXTERNAL_AUTH_0_AUTH_URL="+g.url()+"/login/oauth/authorize"),
		"server", "--http-address", p.address, "--access-url", base, "--provisioner-daemons", "1")
	awaitHealth(t, p.address)
	p.run(t, "login", base, "--first-user-username", "admin", "--first-user-email", "admin@example.com", "--first-user-password", password)
	template, err := filepath.Abs("../examples/templates/local")
	if err != nil {
		t.Fatal(err)
	}
	p.run(t, "templates", "push", "local", "--directory", template, "--yes")
	p.run(t, "create", "dev", "--template", "local", "--use-parameter-defaults", "--yes")

	clone := func(to string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 3*testwait.Limit)
		defer cancel()
		page := base + "/external-auth/gitea"
		log, err := os.Create(filepath.Join(p.dir, to+".log"))
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		cmd := exec.CommandContext(ctx, p.bin, "ssh", "dev", "git clone "+g.url()+"/"+giteaUser+"/private.git "+to)
		cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = p.dir, p.env(), log, log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		testwait.Until(t, "git prints the page on which the user links the account", func() bool {
			b, err := os.ReadFile(log.Name())
			return err == nil && bytes.Contains(b, []byte(page))
		})
		g.visit(t, page, "link")
		if err := cmd.Wait(); err != nil {
			t.Fatalf("git clone after the account was linked: %v\n%s", err, tail(log.Name()))
		}
	}
	clone("first")

	push := "cd first && git config user.email " + giteaUser + "@example.com && git config user.name " + giteaUser + " && date >file && git add file && git commit -qm x && git push -q origin HEAD && git fetch -q"
	p.run(t, "ssh", "dev", push)
	token := func() (string, error) {
		out, err := p.try("ssh", "dev", "coder external-auth access-token gitea")
		return strings.TrimSpace(out), err
	}
	first, err := token()
	if err != nil || !regexp.MustCompile(`^ey[\w.-]+$`).MatchString(first) {
		t.Fatalf("the token is not one of Gitea: %v", err)
	}
	testwait.Until(t, "the token that expired is replaced", func() bool {
		next, err := token()
		return err == nil && next != first
	})
	p.run(t, "ssh", "dev", push)

	kill(g.server)
	testwait.Until(t, "the command states that Gitea cannot be reached", func() bool {
		out, err := token()
		return err != nil && strings.Contains(out, "does not renew the token")
	})
	g.serve(t)
	p.run(t, "ssh", "dev", push)

	g.visit(t, base, "revoke")
	testwait.Until(t, "the account must be linked again", func() bool {
		out, err := token()
		return err != nil && strings.Contains(out, base+"/external-auth/gitea")
	})
	clone("second")
}
