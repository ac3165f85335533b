package mail_test

import (
	"bufio"
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/textproto"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// smtpServer is a mail server that speaks SMTP: it takes what is sent to it and
// delivers nothing.
type smtpServer struct {
	t       *testing.T
	ln      net.Listener
	tls     *tls.Config
	caFile  string
	noTLS   bool   // does not offer STARTTLS
	implied bool   // TLS from the first byte
	user    string // who must sign in, with the password "hush"; "": nobody
	ways    string // to sign in by; "": PLAIN LOGIN
	known   string // file with the certificate that clients must show; "": none need

	mu      sync.Mutex
	refuse  int // so many messages are refused for now
	got     []received
	lines   []net.Conn // all there were
	arrived chan struct{}
}

// received is a message with what is known of its way.
type received struct {
	hello, from, to, text, mechanism string
	secure                           bool
	shown                            string // the name in the client's certificate
}

func newSMTP(t *testing.T, change func(*smtpServer)) *smtpServer {
	t.Helper()
	s := &smtpServer{t: t, arrived: make(chan struct{}, 100)}
	s.tls, s.caFile = certificate(t)
	if change != nil {
		change(s)
	}
	if s.known != "" {
		s.tls.ClientCAs, s.tls.ClientAuth = pool(t, s.known), tls.RequireAndVerifyClientCert
	}
	var err error
	if s.ln, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	if s.implied {
		s.ln = tls.NewListener(s.ln, s.tls)
	}
	var all sync.WaitGroup
	t.Cleanup(func() { s.ln.Close(); s.hangUp(); all.Wait() }) //nolint:errcheck // the test is over
	all.Go(func() {
		for {
			c, err := s.ln.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.lines = append(s.lines, c)
			s.mu.Unlock()
			all.Go(func() { s.serve(c) })
		}
	})
	return s
}

// certificate makes one for "mail.test" that signs itself, and a file with it.
func certificate(t *testing.T) (*tls.Config, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "mail.test"}, DNSNames: []string{"mail.test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}, file
}

// hangUp ends what clients that failed leave open.
func (s *smtpServer) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.lines {
		c.Close() //nolint:errcheck // it may be gone
	}
}

// pool returns the certificates of a file.
func pool(t *testing.T, file string) *x509.CertPool {
	t.Helper()
	b, err := os.ReadFile(file)
	must(t, err)
	p := x509.NewCertPool()
	if !p.AppendCertsFromPEM(b) {
		t.Fatalf("%s contains no certificate", file)
	}
	return p
}

// clientCertificate makes a certificate to sign in with, and its key, as files.
func clientCertificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "coder.test"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	must(t, err)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	must(t, err)
	cert, key = filepath.Join(t.TempDir(), "client.pem"), filepath.Join(t.TempDir(), "client.key")
	must(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	must(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}), 0o600))
	return cert, key
}

// whose returns the name in the certificate that a client shows.
func whose(conn net.Conn) string {
	c, ok := conn.(*tls.Conn)
	if !ok || c.Handshake() != nil || len(c.ConnectionState().PeerCertificates) == 0 {
		return ""
	}
	return c.ConnectionState().PeerCertificates[0].Subject.CommonName
}

// serve speaks with one client until it leaves.
func (s *smtpServer) serve(conn net.Conn) {
	defer func() { conn.Close() }()                  //nolint:errcheck // it may be gone
	conn.SetDeadline(time.Now().Add(testwait.Limit)) //nolint:errcheck // a test that hangs fails anyway
	in := textproto.NewReader(bufio.NewReader(conn))
	say := func(format string, args ...any) { fmt.Fprintf(conn, format+"\r\n", args...) } //nolint:errcheck // it may be gone
	r, signedIn := received{secure: s.implied, shown: whose(conn)}, s.user == ""
	say("220 mail.test")
	for {
		line, err := in.ReadLine()
		if err != nil {
			return
		}
		verb, rest, _ := strings.Cut(line, " ")
		switch verb = strings.ToUpper(verb); verb {
		case "EHLO", "HELO":
			r.hello = rest
			say("250-mail.test")
			if !s.noTLS && !r.secure {
				say("250-STARTTLS")
			}
			say("250-AUTH %s", cmp.Or(s.ways, "PLAIN LOGIN"))
			say("250 8BITMIME")
		case "STARTTLS":
			say("220 go on")
			secured := tls.Server(conn, s.tls)
			if secured.Handshake() != nil {
				return
			}
			conn, r.secure, r.shown = secured, true, whose(secured)
			in = textproto.NewReader(bufio.NewReader(conn))
		case "AUTH":
			r.mechanism, signedIn = s.auth(in, say, rest)
			if !signedIn {
				say("535 5.7.8 wrong")
				continue
			}
			say("235 2.7.0 welcome")
		case "MAIL":
			if !signedIn {
				say("530 5.7.0 sign in first")
				continue
			}
			r.from = rest
			say("250 OK")
		case "RCPT":
			r.to = rest
			say("250 OK")
		case "DATA":
			say("354 go on")
			b, err := io.ReadAll(in.DotReader())
			if err != nil {
				return
			}
			r.text = string(b)
			say("%s", s.take(r))
		case "QUIT":
			say("221 bye")
			return
		default:
			say("250 OK")
		}
	}
}

// take keeps a message, or refuses it for now.
func (s *smtpServer) take(r received) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse > 0 {
		s.refuse--
		return "451 4.3.0 later"
	}
	s.got = append(s.got, r)
	s.arrived <- struct{}{}
	return "250 2.0.0 taken"
}

// auth hears who signs in, by PLAIN or LOGIN.
func (s *smtpServer) auth(in *textproto.Reader, say func(string, ...any), rest string) (mechanism string, ok bool) {
	mechanism, first, _ := strings.Cut(rest, " ")
	decode := func(text string) string {
		b, _ := base64.StdEncoding.DecodeString(text) //nolint:errcheck // it will be wrong then
		return string(b)
	}
	ask := func(what string) string {
		say("334 %s", base64.StdEncoding.EncodeToString([]byte(what)))
		line, _ := in.ReadLine() //nolint:errcheck // it will be wrong then
		return decode(line)
	}
	if mechanism == "PLAIN" {
		parts := strings.Split(decode(first), "\x00")
		return mechanism + " " + parts[0], len(parts) == 3 && parts[1] == s.user && parts[2] == "hush"
	}
	return mechanism, ask("Username:") == s.user && ask("Password:") == "hush"
}

// next waits for a message.
func (s *smtpServer) next() received {
	s.t.Helper()
	select {
	case <-s.arrived:
	case <-time.After(testwait.Limit):
		s.t.Fatal("no message arrived")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.got[len(s.got)-1]
}
