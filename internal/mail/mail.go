// Package mail sends e-mail by SMTP: messages of plain text, one after the
// other, in the background. Whoever posts one never waits for the mail server,
// so that how long an answer takes says nothing about whether somebody was
// written to. What waits is in memory alone and bounded; a message that a
// server that ends had not sent yet is lost, which its log says.
//
// Without a choice the connection turns to TLS if the mail server can
// (STARTTLS); it must with StartTLS, and is TLS from the first byte with
// ForceTLS. A password is sent over TLS only, or to this machine. Nothing of
// what messages say is ever logged.
package mail

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	netmail "net/mail"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	gomail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"

	"github.com/seed-2a7f8fe7/coder"
)

// Config says who sends, and by which mail server.
type Config struct {
	From      string // address, or "Name <address>"
	Smarthost string // host:port; the port is 587 without one, 465 with ForceTLS
	Hello     string // what the mail server is greeted with; "": localhost

	// ForceTLS speaks TLS from the first byte, StartTLS insists on turning to it.
	ForceTLS, StartTLS bool
	ServerName         string // that the certificate must have; "": the host's
	SkipVerify         bool   // any certificate will do
	CAFile             string // authorities to trust instead of the system's
	CertFile, KeyFile  string // what to sign in with

	// Username and Password sign in, by what the mail server offers; Identity
	// is that of PLAIN. PasswordFile holds the password instead.
	Username, Password, PasswordFile, Identity string

	Log      *slog.Logger
	Timeout  time.Duration // of one attempt to send; 0: a minute
	Attempts int           // to send a message; 0: 5
	// Pause is how long to wait after a first attempt; after each further one it
	// is twice as long. 0: two seconds.
	Pause time.Duration
}

// waiting bounds the messages that are not sent yet.
const waiting = 256

// Message is one e-mail to one person.
type Message struct {
	To            string // address
	Subject, Text string
}

// Mailer sends. Between Start and Stop it is safe for concurrent use.
type Mailer struct {
	c      Config
	from   string
	client *gomail.Client
	queue  chan Message
	cancel context.CancelFunc
	done   sync.WaitGroup
}

// New makes a mailer, and says what of its settings cannot be. It sends nothing.
func New(c Config) (*Mailer, error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Timeout <= 0 {
		c.Timeout = time.Minute
	}
	if c.Attempts <= 0 {
		c.Attempts = 5
	}
	if c.Pause <= 0 {
		c.Pause = 2 * time.Second
	}
	if c.From == "" {
		return nil, coder.Errorf(coder.CodeInvalid, "--email-smarthost needs --email-from, the address to send from")
	}
	from, err := netmail.ParseAddress(c.From)
	if err != nil {
		return nil, coder.Errorf(coder.CodeInvalid, "--email-from %q is neither an address nor of the form Name <address>", c.From)
	}
	m := &Mailer{c: c, from: from.String(), queue: make(chan Message, waiting)}
	m.client, err = dialer(c)
	return m, err
}

// dialer is how the mail server is reached.
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
	case c.ForceTLS:
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

func smarthost(c Config) (host string, port int, err error) {
	wrong := coder.Errorf(coder.CodeInvalid, "--email-smarthost %q is not of the form host:port", c.Smarthost)
	host, text, err := net.SplitHostPort(c.Smarthost)
	if err != nil { // a host alone
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
		return "", coder.Errorf(coder.CodeInvalid, "--email-auth-password and --email-auth-password-file are both given; use one")
	}
	b, err := os.ReadFile(c.PasswordFile)
	if err != nil {
		return "", coder.Errorf(coder.CodeInvalid, "--email-auth-password-file cannot be read: %v", err)
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
			return nil, coder.Errorf(coder.CodeInvalid, "--email-tls-ca-cert-file cannot be read: %v", err)
		}
		t.RootCAs = x509.NewCertPool()
		if !t.RootCAs.AppendCertsFromPEM(pem) {
			return nil, coder.Errorf(coder.CodeInvalid, "--email-tls-ca-cert-file %s holds no certificate", c.CAFile)
		}
	}
	if (c.CertFile == "") != (c.KeyFile == "") {
		return nil, coder.Errorf(coder.CodeInvalid, "--email-tls-cert-file and --email-tls-cert-key-file come together")
	}
	if c.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
		if err != nil {
			return nil, coder.Errorf(coder.CodeInvalid, "--email-tls-cert-file and --email-tls-cert-key-file: %v", err)
		}
		t.Certificates = []tls.Certificate{pair}
	}
	return t, nil
}

// Post has a message sent soon. When too many wait already it is lost, which
// the log says.
func (m *Mailer) Post(msg Message) {
	select {
	case m.queue <- msg:
	default:
		m.c.Log.Error("an e-mail was not sent, because too many wait; is the mail server slow?", "waiting", waiting)
	}
}

// Start begins to send.
func (m *Mailer) Start(context.Context) error {
	ctx, cancel := context.WithCancel(context.Background())
	m.cancel = cancel
	m.done.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case msg := <-m.queue:
				m.deliver(ctx, msg)
			}
		}
	})
	return nil
}

// Stop ends the sending; what waits is lost.
func (m *Mailer) Stop(context.Context) error {
	m.cancel()
	m.done.Wait()
	if n := len(m.queue); n > 0 {
		m.c.Log.Warn("e-mails were not sent, because the server ended", "count", n)
	}
	return nil
}

// deliver sends a message, more than once if need be.
func (m *Mailer) deliver(ctx context.Context, msg Message) {
	pause := m.c.Pause
	for attempt := 1; ; attempt++ {
		err := m.Send(ctx, msg)
		if err == nil || ctx.Err() != nil {
			return
		}
		if attempt >= m.c.Attempts {
			m.c.Log.Error("an e-mail could not be sent", "attempts", attempt, "error", err)
			return
		}
		m.c.Log.Warn("an e-mail could not be sent; it is tried again", "attempt", attempt, "error", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		pause *= 2
	}
}

// Send sends a message now, by a connection of its own.
func (m *Mailer) Send(ctx context.Context, msg Message) error {
	e := gomail.NewMsg()
	if err := e.From(m.from); err != nil {
		return fmt.Errorf("the sender's address: %w", err)
	}
	if err := e.To(msg.To); err != nil {
		return fmt.Errorf("the receiver's address cannot be written to: %w", err)
	}
	e.Subject(msg.Subject)
	e.SetDate()
	e.SetMessageID()
	e.SetBodyString(gomail.TypeTextPlain, msg.Text)
	ctx, cancel := context.WithTimeout(ctx, m.c.Timeout)
	defer cancel()
	if err := m.client.DialAndSendWithContext(ctx, e); err != nil {
		return fmt.Errorf("the mail server %s: %w", m.c.Smarthost, err)
	}
	return nil
}
