package serve

import (
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
	"github.com/seed-2a7f8fe7/coder/internal/server"
)

// mailFlags are the options of the mailer under their older names, which win
// where they are given.
type mailFlags struct{ older server.Mail }

func mailOptions(f *serverFlags) []*option.Option {
	about := func(now, _ string) string { return now }
	older := func(_, name string) string { return "Older name of --email-" + name + "." }
	return append(
		under("E-mail", mailRows(&f.cfg.Mail, "email-", "CODER_EMAIL_", "email.", "localhost", "false", about)...),
		under("Notifications", mailRows(&f.mail.older, "notifications-email-", "CODER_NOTIFICATIONS_EMAIL_", "notifications.email.", "", "", older)...)...)
}

// mailRows are the options of the mailer under one of their two names.
func mailRows(c *server.Mail, flag, env, yaml, hello, forced string, about func(now, name string) string) []*option.Option {
	text := func(p *string, name, variable, key, says string) *option.Option {
		o := option.String(p, flag+name, about(says, name)).Env(env + variable)
		if key != "" {
			o.YAML(yaml + key)
		}
		return o
	}
	yes := func(p *bool, name, variable, key, says string) *option.Option {
		return option.Bool(p, flag+name, about(says, name)).Env(env + variable).YAML(yaml + key)
	}
	return []*option.Option{
		text(&c.From, "from", "FROM", "from", "Sender."),
		text(&c.Smarthost, "smarthost", "SMARTHOST", "smarthost", "Mail server, as host:port; without one no e-mail is sent."),
		text(&c.Hello, "hello", "HELLO", "hello", "Name that the server greets the mail server with.").Def(hello),
		yes(&c.ForceTLS, "force-tls", "FORCE_TLS", "forceTLS", "Send by TLS from the first byte.").Def(forced),
		text(&c.Identity, "auth-identity", "AUTH_IDENTITY", "emailAuth.identity", "Identity for PLAIN."),
		text(&c.Username, "auth-username", "AUTH_USERNAME", "emailAuth.username", "User name to sign in to the mail server with."),
		text(&c.Password, "auth-password", "AUTH_PASSWORD", "", "Password to sign in to the mail server with."),
		text(&c.PasswordFile, "auth-password-file", "AUTH_PASSWORD_FILE", "emailAuth.passwordFile", "File with the password."),
		yes(&c.StartTLS, "tls-starttls", "TLS_STARTTLS", "emailTLS.startTLS", "Insist on turning to TLS by STARTTLS, which is done wherever the mail server can."),
		text(&c.ServerName, "tls-server-name", "TLS_SERVERNAME", "emailTLS.serverName", "Name that the mail server's certificate must have."),
		yes(&c.SkipVerify, "tls-skip-verify", "TLS_SKIPVERIFY", "emailTLS.insecureSkipVerify", "Do not check the mail server's certificate."),
		text(&c.CAFile, "tls-ca-cert-file", "TLS_CACERTFILE", "emailTLS.caCertFile", "Certificates of authorities to trust."),
		text(&c.CertFile, "tls-cert-file", "TLS_CERTFILE", "emailTLS.certFile", "Certificate to sign in with."),
		text(&c.KeyFile, "tls-cert-key-file", "TLS_CERTKEYFILE", "emailTLS.certKeyFile", "Key of --email-tls-cert-file."),
	}
}

// into lays what was given by older names over c.
func (f mailFlags) into(c *server.Mail) {
	o := f.older
	for _, p := range []struct {
		to   *string
		from string
	}{
		{&c.From, o.From}, {&c.Smarthost, o.Smarthost}, {&c.Hello, o.Hello}, {&c.Identity, o.Identity}, {&c.Username, o.Username},
		{&c.Password, o.Password}, {&c.PasswordFile, o.PasswordFile}, {&c.ServerName, o.ServerName}, {&c.CAFile, o.CAFile},
		{&c.CertFile, o.CertFile}, {&c.KeyFile, o.KeyFile},
	} {
		if p.from != "" {
			*p.to = p.from
		}
	}
	c.ForceTLS, c.StartTLS, c.SkipVerify = c.ForceTLS || o.ForceTLS, c.StartTLS || o.StartTLS, c.SkipVerify || o.SkipVerify
}
