// Package mail sends email over SMTP.
//
// Send sends a message at once; the caller repeats it after an error.
//
// By default the connection uses STARTTLS if the mail server supports it.
// StartTLS requires it. ForceTLS or port 465 uses TLS from the first byte. A password
// is sent over TLS or to localhost only. Message contents are never logged.
package mail

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	netmail "net/mail"
	"os"
	"strconv"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Config holds the sender and the mail server.
type Config struct {
	From      string // address, or "Name <address>"
	Smarthost string // host:port; the port is 587 without one, 465 with ForceTLS
	Hello     string // host name sent in EHLO; "" means localhost

	// ForceTLS uses TLS from the first byte; StartTLS requires STARTTLS.
	ForceTLS, StartTLS bool
	ServerName         string // expected in the certificate; "" means the host of Smarthost
	SkipVerify         bool   // accept any certificate
	CAFile             string // CA certificates to trust instead of the system's
	CertFile, KeyFile  string // client certificate

	// Username and Password authenticate with a mechanism that the mail server
	// offers. Identity is the authorization identity of PLAIN. PasswordFile is
	// read instead of Password.
	Username, Password, PasswordFile, Identity string

	Timeout time.Duration // of one attempt; 0 means one minute
}

// Message is an email to one recipient.
type Message struct {
	To            string // address
	Subject, Text string
	HTML          string // alternative to Text; "" for none
	// ID identifies the message, so that mail programs recognize a repetition; ""
	// chooses one.
	ID string
}

// Mailer sends email. It is safe for concurrent use.
type Mailer struct {
	c       Config
	from    string // header
	address string
}

// New checks the settings and returns a mailer. It sends nothing.
func New(c Config) (*Mailer, error) {
	if c.Timeout <= 0 {
		c.Timeout = time.Minute
	}
	if c.From == "" {
		return nil, codersdk.Errorf(codersdk.CodeInvalid, "--email-smarthost requires --email-from, the sender's address")
	}
	from, err := netmail.ParseAddress(c.From)
	if err != nil {
		return nil, codersdk.Errorf(codersdk.CodeInvalid, "--email-from %q is neither an address nor of the form Name <address>", c.From)
	}
	m := &Mailer{c: c, from: from.String(), address: from.Address}
	_, err = dialer(c)
	return m, err
}

// dialer returns the client of the mail server.
func dialer(c Config) (*gomail.Client, error) {
	host, port, err := smarthost(c)
	if err != nil {
		return nil, err
	}
	config, err := tlsConfig(c, host)
	if err != nil {
		return nil, err
	}
	options := []gomail.Option{gomail.WithPort(port), gomail.WithTimeout(c.Timeout), gomail.WithTLSConfig(config), gomail.WithoutNoop()}
	hello := c.Hello
	if hello == "" {
		hello = "localhost"
	}
	options = append(options, gomail.WithHELO(hello))
	switch {
	case c.ForceTLS, port == implicitTLS:
		options = append(options, gomail.WithSSL())
	case c.StartTLS:
		options = append(options, gomail.WithTLSPolicy(gomail.TLSMandatory))
	default:
		options = append(options, gomail.WithTLSPolicy(gomail.TLSOpportunistic))
	}
	if c.Username == "" {
		return gomail.NewClient(host, options...)
	}
	password, err := c.password()
	if err != nil {
		return nil, err
	}
	if c.Identity != "" {
		options = append(options, gomail.WithSMTPAuthCustom(smtp.PlainAuth(c.Identity, c.Username, password, host, false)))
	} else {
		options = append(options, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover), gomail.WithUsername(c.Username), gomail.WithPassword(password))
	}
	return gomail.NewClient(host, options...)
}

// implicitTLS is the port of mail servers that use TLS from the first byte.
const implicitTLS = 465

func smarthost(c Config) (host string, port int, err error) {
	wrong := codersdk.Errorf(codersdk.CodeInvalid, "--email-smarthost %q is not of the form host:port", c.Smarthost)
	host, text, err := net.SplitHostPort(c.Smarthost)
	if err != nil { // a host without a port
		host, text = c.Smarthost, "587"
		if c.ForceTLS {
			text = "465"
		}
	}
	port, err = strconv.Atoi(text)
	if err != nil || port < 1 || port > 65535 || host == "" || strings.ContainsAny(host, "/@ ") {
		return "", 0, wrong
	}
	return host, port, nil
}

func (c Config) password() (string, error) {
	if c.PasswordFile == "" {
		return c.Password, nil
	}
	if c.Password != "" {
		return "", codersdk.Errorf(codersdk.CodeInvalid, "--email-auth-password and --email-auth-password-file are both set; use one of them")
	}
	b, err := os.ReadFile(c.PasswordFile)
	if err != nil {
		return "", codersdk.Errorf(codersdk.CodeInvalid, "reading --email-auth-password-file failed: %v", err)
	}
	return strings.TrimRight(string(b), "\r\n"), nil
}

func tlsConfig(c Config, host string) (*tls.Config, error) {
	t := &tls.Config{ServerName: host, InsecureSkipVerify: c.SkipVerify, MinVersion: tls.VersionTLS12}
	if c.ServerName != "" {
		t.ServerName = c.ServerName
	}
	if c.CAFile != "" {
		pem, err := os.ReadFile(c.CAFile)
		if err != nil {
			return nil, codersdk.Errorf(codersdk.CodeInvalid, "reading --email-tls-ca-cert-file failed: %v", err)
		}
		t.RootCAs = x509.NewCertPool()
		if !t.RootCAs.AppendCertsFromPEM(pem) {
			return nil, codersdk.Errorf(codersdk.CodeInvalid, "--email-tls-ca-cert-file %s contains no PEM certificate", c.CAFile)
		}
	}
	if (c.CertFile == "") != (c.KeyFile == "") {
		return nil, codersdk.Errorf(codersdk.CodeInvalid, "--email-tls-cert-file and --email-tls-cert-key-file come in pairs; set both")
	}
	if c.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
		if err != nil {
			return nil, codersdk.Errorf(codersdk.CodeInvalid, "--email-tls-cert-file and --email-tls-cert-key-file: %v", err)
		}
		t.Certificates = []tls.Certificate{pair}
	}
	return t, nil
}

// Send sends a message now, over a connection of its own. It is safe for
// concurrent use. Files of the configuration are read for each message.
func (m *Mailer) Send(ctx context.Context, msg Message) error {
	e := gomail.NewMsg()
	if err := e.From(m.from); err != nil {
		return fmt.Errorf("sender address: %w", err)
	}
	if err := e.To(msg.To); err != nil {
		return &permanentError{fmt.Errorf("recipient address: %w", err)}
	}
	e.Subject(msg.Subject)
	e.SetDate()
	if msg.ID == "" {
		e.SetMessageID()
	} else {
		_, domain, _ := strings.Cut(m.address, "@")
		e.SetMessageIDWithValue(msg.ID + "@" + domain)
	}
	e.SetBodyString(gomail.TypeTextPlain, msg.Text)
	if msg.HTML != "" {
		e.AddAlternativeString(gomail.TypeTextHTML, msg.HTML)
	}
	client, err := dialer(m.c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, m.c.Timeout)
	defer cancel()
	if err := client.DialAndSendWithContext(ctx, e); err != nil {
		return fmt.Errorf("mail server %s: %w", m.c.Smarthost, err)
	}
	return nil
}

// permanentError is an error that no other attempt avoids.
type permanentError struct{ error }

func (e *permanentError) Unwrap() error { return e.error }

// IsPermanent reports whether an error of Send is about the message, such as a
// recipient that the mail server refuses for good, so that another attempt fails
// too.
func IsPermanent(err error) bool {
	if _, ok := errors.AsType[*permanentError](err); ok {
		return true
	}
	refused, ok := errors.AsType[*gomail.SendError](err)
	return ok && refused.ErrorCode() >= 500 && !refused.IsTemp()
}
