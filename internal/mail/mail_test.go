package mail_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/mail"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/servertest"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// record is a log that may be read while it is written.
type record struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.b.Write(p)
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.b.String()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// config reaches a server, trusting its certificate.
func (s *smtpServer) config() mail.Config {
	return mail.Config{From: "Coder <coder@example.com>", Smarthost: s.ln.Addr().String(), CAFile: s.caFile, ServerName: "mail.test", Timeout: testwait.Limit}
}

func TestWaysToSend(t *testing.T) {
	cert, key := clientCertificate(t)
	for what, c := range map[string]struct {
		server    func(*smtpServer)
		mailer    func(*mail.Config)
		secure    bool
		mechanism string
	}{
		"to TLS, as the server can":    {nil, nil, true, ""},
		"in the clear, as it cannot":   {func(s *smtpServer) { s.noTLS = true }, nil, false, ""},
		"STARTTLS":                     {nil, func(c *mail.Config) { c.StartTLS = true }, true, ""},
		"TLS from the first byte":      {func(s *smtpServer) { s.implied = true }, func(c *mail.Config) { c.ForceTLS = true }, true, ""},
		"to a name that is not its":    {nil, func(c *mail.Config) { c.ServerName, c.CAFile, c.SkipVerify = "", "", true }, true, ""},
		"signed in":                    {func(s *smtpServer) { s.user = "ann" }, func(c *mail.Config) { c.Username, c.Password = "ann", "hush" }, true, "PLAIN "},
		"signed in as somebody else":   {func(s *smtpServer) { s.user = "ann" }, func(c *mail.Config) { c.Username, c.Password, c.Identity = "ann", "hush", "coder" }, true, "PLAIN coder"},
		"signed in by LOGIN alone":     {func(s *smtpServer) { s.user, s.ways = "ann", "LOGIN" }, func(c *mail.Config) { c.Username, c.Password = "ann", "hush" }, true, "LOGIN"},
		"with a certificate":           {func(s *smtpServer) { s.known = cert }, func(c *mail.Config) { c.CertFile, c.KeyFile = cert, key }, true, ""},
		"a certificate from the first": {func(s *smtpServer) { s.known, s.implied = cert, true }, func(c *mail.Config) { c.CertFile, c.KeyFile, c.ForceTLS = cert, key, true }, true, ""},
		"a certificate and LOGIN":      {func(s *smtpServer) { s.known, s.user, s.ways = cert, "ann", "LOGIN" }, func(c *mail.Config) { c.CertFile, c.KeyFile, c.Username, c.Password = cert, key, "ann", "hush" }, true, "LOGIN"},
		"signed in with a file's word": {func(s *smtpServer) { s.user = "ann" }, func(c *mail.Config) { c.Username, c.PasswordFile = "ann", passwordFile(t) }, true, "PLAIN "},
	} {
		t.Run(what, func(t *testing.T) {
			s := newSMTP(t, c.server)
			cfg := s.config()
			cfg.Hello = "coder.example.com"
			if c.mailer != nil {
				c.mailer(&cfg)
			}
			m, err := mail.New(cfg)
			must(t, err)
			must(t, m.Send(t.Context(), mail.Message{To: "ann@example.com", Subject: "Grüße", Text: "Hello Ann,\n.a line with a dot\n"}))
			got := s.next()
			if got.secure != c.secure || got.mechanism != c.mechanism || got.hello != "coder.example.com" {
				t.Errorf("sent by %+v", got)
			}
			if (got.shown == "coder.test") != (s.known != "") {
				t.Errorf("it showed the certificate of %q", got.shown)
			}
			if !strings.Contains(got.from, "<coder@example.com>") || got.to != "TO:<ann@example.com>" ||
				!strings.Contains(got.text, "Hello Ann,") || !strings.Contains(got.text, "\n.a line with a dot") || !strings.Contains(got.text, "Subject: =?UTF-8?") {
				t.Errorf("arrived: %+v", got)
			}
		})
	}
}

func passwordFile(t *testing.T) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), "password")
	must(t, os.WriteFile(p, []byte("hush\n"), 0o600))
	return p
}

func TestRefusedSending(t *testing.T) {
	known, _ := clientCertificate(t)
	cert, key := clientCertificate(t)
	for what, c := range map[string]struct {
		server func(*smtpServer)
		mailer func(*mail.Config)
	}{
		"a certificate of nobody":       {nil, func(c *mail.Config) { c.CAFile = "" }},
		"a certificate of another name": {nil, func(c *mail.Config) { c.ServerName = "other.test" }},
		"no STARTTLS, which must be":    {func(s *smtpServer) { s.noTLS = true }, func(c *mail.Config) { c.StartTLS = true }},
		"a wrong password":              {func(s *smtpServer) { s.user = "ann" }, func(c *mail.Config) { c.Username, c.Password = "ann", "wrong-word" }},
		"a wrong password by LOGIN":     {func(s *smtpServer) { s.user, s.ways = "ann", "LOGIN" }, func(c *mail.Config) { c.Username, c.Password = "ann", "wrong-word" }},
		"a password in the clear":       {func(s *smtpServer) { s.user, s.ways, s.noTLS = "ann", "LOGIN", true }, func(c *mail.Config) { c.Username, c.Password = "ann", "wrong-word" }},
		"no way to sign in by":          {func(s *smtpServer) { s.user, s.ways = "ann", "GSSAPI" }, func(c *mail.Config) { c.Username, c.Password = "ann", "wrong-word" }},
		"no certificate":                {func(s *smtpServer) { s.known = known }, nil},
		"another's certificate":         {func(s *smtpServer) { s.known = known }, func(c *mail.Config) { c.CertFile, c.KeyFile = cert, key }},
		"nobody signed in":              {func(s *smtpServer) { s.user = "ann" }, nil},
		"nobody there":                  {func(s *smtpServer) {}, func(c *mail.Config) { c.Smarthost = "127.0.0.1:1" }},
	} {
		t.Run(what, func(t *testing.T) {
			s := newSMTP(t, c.server)
			cfg := s.config()
			if c.mailer != nil {
				c.mailer(&cfg)
			}
			m, err := mail.New(cfg)
			must(t, err)
			err = m.Send(t.Context(), mail.Message{To: "ann@example.com", Subject: "x", Text: "the code is 4711"})
			if err == nil || !strings.Contains(err.Error(), cfg.Smarthost) || strings.Contains(err.Error(), "4711") || strings.Contains(err.Error(), "wrong-word") {
				t.Errorf("it says %v", err)
			}
		})
	}
}

// TestTriedAgain: refusals for now are retried, refusals of every attempt end as a dead
// letter, and no refusal stops the emails behind it.
func TestTriedAgain(t *testing.T) {
	box := newSMTP(t, func(s *smtpServer) { s.refuse = 2 })
	s := servertest.Start(t, func(c *server.Config) {
		c.Provisioning.Daemons, c.Sessions.Mail = 0, box.config()
		c.Notifications.MaxAttempts, c.Notifications.Retry, c.Notifications.Fetch = 3, 1, 50e6
	})
	ctx := t.Context()
	anon := codersdk.New(s.Client.URL)
	request := func() {
		must(t, anon.RequestOneTimePasscode(ctx, codersdk.RequestOneTimePasscodeRequest{Email: "admin@example.com"}))
	}
	request()
	first := box.next()
	box.mu.Lock()
	box.refuse = 3
	box.mu.Unlock()
	request()
	var status codersdk.NotificationStatus
	must(t, lifecycle.Poll(ctx, 50*time.Millisecond, nil, func(context.Context) (bool, error) {
		var err error
		status, err = s.Client.NotificationQueue(ctx)
		return status.FailedCount > 0, err
	}))
	if f := status.Failed[0]; f.Attempts != 3 || f.Username != "admin" || !strings.Contains(f.Error, "451") {
		t.Errorf("the dead letter is %+v", f)
	}
	must(t, s.Client.PutNotificationsSettings(ctx, codersdk.NotificationsSettings{NotifierPaused: true})) // passcodes ignore it
	request()
	if got := box.next(); got.text == first.text || got.to != "TO:<admin@example.com>" {
		t.Errorf("then came %s", got.text)
	}
}

func TestSettingsThatCannotBe(t *testing.T) {
	file := passwordFile(t)
	for want, c := range map[string]mail.Config{
		"requires --email-from":           {Smarthost: "mail:25"},
		"--email-from":                    {Smarthost: "mail:25", From: "nobody"},
		"of the form host:port":           {Smarthost: "https://mail:25", From: "a@b.c"},
		"both set":                        {Smarthost: "mail", From: "a@b.c", Username: "u", Password: "p", PasswordFile: file},
		"email-auth-password-file failed": {Smarthost: "mail", From: "a@b.c", Username: "u", PasswordFile: file + "x"},
		"ca-cert-file failed":             {Smarthost: "mail", From: "a@b.c", CAFile: file + "x"},
		"contains no PEM certificate":     {Smarthost: "mail", From: "a@b.c", CAFile: file},
		"come in pairs":                   {Smarthost: "mail", From: "a@b.c", CertFile: file},
		"--email-tls-cert-file":           {Smarthost: "mail", From: "a@b.c", CertFile: file, KeyFile: file},
	} {
		if _, err := mail.New(c); !codersdk.Is(err, codersdk.CodeInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

// TestForgottenPassword goes the whole way: a person asks, reads the email,
// sets a password and logs in; an address that nobody has gets the same answer.
func TestForgottenPassword(t *testing.T) {
	box := newSMTP(t, nil)
	var log record
	s := servertest.Start(t, func(c *server.Config) {
		c.Provisioning.Daemons, c.Sessions.Mail = 0, box.config()
		c.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	ctx := t.Context()
	_, err := s.Client.CreateUser(ctx, codersdk.CreateUserRequestWithOrgs{Email: "ann@example.com", Username: "ann", Password: "correct horse battery", LoginType: codersdk.LoginTypePassword})
	must(t, err)
	anon := codersdk.New(s.Client.URL)
	must(t, anon.RequestOneTimePasscode(ctx, codersdk.RequestOneTimePasscodeRequest{Email: "nobody@example.com"}))
	must(t, anon.RequestOneTimePasscode(ctx, codersdk.RequestOneTimePasscodeRequest{Email: "ann@example.com"}))
	got := box.next()
	found := regexp.MustCompile(`(?m)^    ([A-Z0-9]{20,})\r?$`).FindStringSubmatch(got.text)
	if got.to != "TO:<ann@example.com>" || found == nil || !strings.Contains(got.text, "Hello ann") {
		t.Fatalf("the e-mail to %s is\n%s", got.to, got.text)
	}
	if !strings.Contains(strings.ReplaceAll(got.text, "=\n", ""), s.AccessURL().String()+"/reset-password") {
		t.Errorf("it does not say where to give it:\n%s", got.text)
	}
	const fresh = "another horse, another battery"
	change := func(code string) error {
		return anon.ChangePasswordWithOneTimePasscode(ctx, codersdk.ChangePasswordWithOneTimePasscodeRequest{Email: "ann@example.com", OneTimePasscode: code, Password: fresh})
	}
	if err := change("AAAAAAAAAAAAAAAAAAAAAAAAAA"); !codersdk.Is(err, codersdk.CodeInvalid) {
		t.Errorf("a wrong passcode: %v", err)
	}
	must(t, change(found[1]))
	if err := change(found[1]); !codersdk.Is(err, codersdk.CodeInvalid) {
		t.Errorf("a passcode once more: %v", err)
	}
	_, err = anon.LoginWithPassword(ctx, codersdk.LoginWithPasswordRequest{Email: "ann@example.com", Password: fresh})
	must(t, err)
	if strings.Contains(log.String(), found[1]) {
		t.Error("the log has the passcode")
	}
	box.mu.Lock()
	defer box.mu.Unlock()
	if len(box.got) != 1 {
		t.Errorf("%d e-mails were sent", len(box.got))
	}
}
