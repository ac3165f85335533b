package cli

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/echo"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/servertest"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// house is a real server, with the echo engine, and the commands against it.
type house struct {
	*servertest.Server
	t   *testing.T
	dir string
}

func newHouse(t *testing.T, change func(*server.Config)) *house {
	t.Helper()
	return &house{Server: servertest.Start(t, change), t: t, dir: t.TempDir()}
}

// run runs a command as the owner and gives its output and status.
func (h *house) run(args ...string) (stdout, stderr string, status int) {
	return h.input("", args...)
}

func (h *house) env() []string {
	return []string{"HOME=" + h.dir, "CODER_URL=" + h.AccessURL().String(), "CODER_SESSION_TOKEN=" + h.Client.SessionToken, "TZ=UTC", "NO_COLOR=1", "CI=1", "CODER_NO_VERSION_WARNING=true"}
}

// ok runs a command that must succeed and gives what it wrote.
func (h *house) ok(args ...string) (stdout, stderr string) {
	h.t.Helper()
	out, errs, status := h.run(args...)
	if status != 0 {
		h.t.Fatalf("coder %s: status %d\n%s%s", strings.Join(args, " "), status, out, errs)
	}
	return out, errs
}

// version uploads a version of the echo engine and gives it as it is at once.
func (h *house) version(files map[string]string, tags map[string]string) codersdk.TemplateVersion {
	h.t.Helper()
	return h.push("default", files, tags)
}

// push is version of any organization.
func (h *house) push(organization string, files map[string]string, tags map[string]string) codersdk.TemplateVersion {
	h.t.Helper()
	archive, err := echo.Archive(files)
	h.must(err)
	up, err := h.Client.Upload(h.t.Context(), "application/x-tar", bytes.NewReader(archive))
	h.must(err)
	v, err := h.Client.CreateTemplateVersion(h.t.Context(), organization, codersdk.CreateTemplateVersionRequest{
		FileID: uuid.MustParse(up.Hash), Provisioner: "echo", StorageMethod: codersdk.ProvisionerStorageMethodFile, Tags: tags,
	})
	h.must(err)
	return v
}

// template makes a template of a version whose import succeeds.
func (h *house) template(name string, files map[string]string) codersdk.Template {
	h.t.Helper()
	v := h.version(files, nil)
	h.until("the import of "+name, func() bool {
		now, err := h.Client.TemplateVersion(h.t.Context(), v.ID)
		h.must(err)
		return now.Job.Status == codersdk.ProvisionerJobStatusSucceeded
	})
	t, err := h.Client.CreateTemplate(h.t.Context(), "default", codersdk.CreateTemplateRequest{Name: name, TemplateVersionID: v.ID})
	h.must(err)
	return t
}

// until waits for what the server does on its own. The server takes 512
// requests a minute.
func (h *house) until(what string, done func() bool) {
	h.t.Helper()
	testwait.Until(h.t, what, done, testwait.Every(100*time.Millisecond))
}

func (h *house) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// background is a command that runs beside the test.
type background struct {
	mu   sync.Mutex
	text strings.Builder
	done chan int
	stop context.CancelFunc
}

// start runs a command beside the test; both streams come together.
func (h *house) start(args ...string) *background {
	ctx, stop := context.WithCancel(h.t.Context())
	b := &background{done: make(chan int, 1), stop: stop}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.done <- Main(ctx, append([]string{"coder"}, args...), strings.NewReader(""), b, b, h.env())
	}()
	h.t.Cleanup(func() { stop(); <-ended }) // it writes to the test's directory
	return b
}

// Write takes what the command writes.
func (b *background) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// said is what the command has written by now.
func (b *background) said() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// sql changes the database under the server.
func (h *house) sql(query string) {
	h.t.Helper()
	c, err := pgx.Connect(h.t.Context(), h.PostgresURL)
	h.must(err)
	defer c.Close(h.t.Context()) //nolint:errcheck // the test's own
	_, err = c.Exec(h.t.Context(), query)
	h.must(err)
}
