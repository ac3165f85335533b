// Package smtptest runs a mail server for tests. The server uses SMTP without TLS,
// accepts or refuses messages as the test decides, and delivers nothing.
package smtptest

import (
	"errors"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/emersion/go-smtp"
)

// Message is an email as the server received it.
type Message struct {
	From, To string // addresses of the envelope
	Data     string // header and body
}

// Server is a running mail server.
type Server struct {
	Address string // host:port

	accept   func(Message) error
	mu       sync.Mutex
	accepted []Message
}

// Refuse returns an error for accept that makes the server refuse a message. code is
// the SMTP reply code, such as 451 or 550.
func Refuse(code int, text string) error {
	return &smtp.SMTPError{Code: code, EnhancedCode: smtp.NoEnhancedCode, Message: text}
}

// New starts a server. The test's cleanup stops it. The server calls accept for each
// recipient, with an empty Data, and for each complete message. It refuses the
// recipient or the message if accept returns an error. Connections call accept
// concurrently. A nil accept accepts all messages.
func New(t testing.TB, accept func(Message) error) *Server {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Address: ln.Addr().String(), accept: accept}
	server := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &session{server: s}, nil }))
	server.Domain = "mail.test"
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ln) }()
	t.Cleanup(func() {
		server.Close() //nolint:errcheck // Serve returns the relevant error
		if err := <-ended; err != nil && !errors.Is(err, smtp.ErrServerClosed) {
			t.Errorf("serve mail: %v", err)
		}
	})
	return s
}

// Accepted returns the messages that the server accepted, in order.
func (s *Server) Accepted() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Message(nil), s.accepted...)
}

// session implements smtp.Session for a connection.
type session struct {
	server  *Server
	message Message
}

// Mail starts a message with its sender.
func (c *session) Mail(from string, _ *smtp.MailOptions) error {
	c.message = Message{From: from}
	return nil
}

// Rcpt sets the recipient.
func (c *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	c.message.To = to
	if c.server.accept == nil {
		return nil
	}
	return c.server.accept(c.message)
}

// Data receives the message.
func (c *session) Data(r io.Reader) error {
	b, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	c.message.Data = string(b)
	if c.server.accept != nil {
		if err := c.server.accept(c.message); err != nil {
			return err
		}
	}
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	c.server.accepted = append(c.server.accepted, c.message)
	return nil
}

// Reset discards the message.
func (c *session) Reset() { c.message = Message{} }

// Logout ends the session.
func (c *session) Logout() error { return nil }
