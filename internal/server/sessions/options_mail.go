package sessions

import (
	"slices"

	"github.com/seed-2a7f8fe7/coder/internal/mail"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

// mailOptions declares the options of email under both sets of names.
func mailOptions(c *Config) []*option.Option {
	about := func(now, _ string) string { return now }
	older := func(_, name string) string { return "Deprecated: use --email-" + name + "." }
	return slices.Concat(
		option.Under("Email", mailRows(&c.Mail, mailNames{"email-", "CODER_EMAIL_", "email."}, "localhost", "false", about)...),
		option.Under("Notifications",
			mailRows(&c.OlderMail, mailNames{"notifications-email-", "CODER_NOTIFICATIONS_EMAIL_", "notifications.email."}, "", "", older)...),
	)
}

// mailNames are the prefixes of a set of names.
type mailNames struct{ flag, env, yaml string }

// mailRows declares the email options under one of their two sets of names.
func mailRows(c *mail.Config, prefix mailNames, hello, forced string, about func(now, name string) string) []*option.Option {
	text := func(p *string, name, variable, key, says string) *option.Option {
		o := option.String(p, prefix.flag+name, about(says, name)).Env(prefix.env + variable)
		if key != "" {
			o.YAML(prefix.yaml + key)
		}
		return o
	}
	yes := func(p *bool, name, variable, key, says string) *option.Option {
		return option.Bool(p, prefix.flag+name, about(says, name)).Env(prefix.env + variable).YAML(prefix.yaml + key)
	}
	return []*option.Option{
		text(&c.From, "from", "FROM", "from", "Sender."),
		text(&c.Smarthost, "smarthost", "SMARTHOST", "smarthost", "SMTP server, as host:port; without it no email is sent"),
		text(&c.Hello, "hello", "HELLO", "hello", "Hostname for the SMTP greeting").Def(hello),
		yes(&c.ForceTLS, "force-tls", "FORCE_TLS", "forceTLS", "Use implicit TLS").Def(forced),
		text(&c.Identity, "auth-identity", "AUTH_IDENTITY", "emailAuth.identity", "Identity for PLAIN authentication"),
		text(&c.Username, "auth-username", "AUTH_USERNAME", "emailAuth.username", "Username for SMTP authentication"),
		text(&c.Password, "auth-password", "AUTH_PASSWORD", "", "Password for SMTP authentication"),
		text(&c.PasswordFile, "auth-password-file", "AUTH_PASSWORD_FILE", "emailAuth.passwordFile", "File with the password for SMTP authentication"),
		yes(&c.StartTLS, "tls-starttls", "TLS_STARTTLS", "emailTLS.startTLS", "Require STARTTLS (it is always used when the server offers it)"),
		text(&c.ServerName, "tls-server-name", "TLS_SERVERNAME", "emailTLS.serverName", "Server name that the TLS certificate must have"),
		yes(&c.SkipVerify, "tls-skip-verify", "TLS_SKIPVERIFY", "emailTLS.insecureSkipVerify", "Skip verification of the SMTP server's TLS certificate"),
		text(&c.CAFile, "tls-ca-cert-file", "TLS_CACERTFILE", "emailTLS.caCertFile", "CA certificates for the SMTP server"),
		text(&c.CertFile, "tls-cert-file", "TLS_CERTFILE", "emailTLS.certFile", "TLS client certificate"),
		text(&c.KeyFile, "tls-cert-key-file", "TLS_CERTKEYFILE", "emailTLS.certKeyFile", "Private key of --email-tls-cert-file"),
	}
}

// Email returns the configuration of email: the options of the older names win.
func (c *Config) Email() mail.Config {
	m, o := c.Mail, c.OlderMail
	for _, p := range []struct {
		to   *string
		from string
	}{
		{&m.From, o.From}, {&m.Smarthost, o.Smarthost}, {&m.Hello, o.Hello}, {&m.Identity, o.Identity}, {&m.Username, o.Username},
		{&m.Password, o.Password}, {&m.PasswordFile, o.PasswordFile}, {&m.ServerName, o.ServerName}, {&m.CAFile, o.CAFile},
		{&m.CertFile, o.CertFile}, {&m.KeyFile, o.KeyFile},
	} {
		if p.from != "" {
			*p.to = p.from
		}
	}
	m.ForceTLS, m.StartTLS, m.SkipVerify = m.ForceTLS || o.ForceTLS, m.StartTLS || o.StartTLS, m.SkipVerify || o.SkipVerify
	return m
}
