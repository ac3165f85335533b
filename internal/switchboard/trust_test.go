package switchboard_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/relay"
)

// TestRelayReadsNothing looks for what is sent in what the relay gets.
func TestRelayReadsNothing(t *testing.T) {
	w := newWorld(t)
	secret := []byte("the very secret plaintext of a session")
	var mu sync.Mutex
	var relayed bytes.Buffer
	w.seen = func(p []byte) {
		mu.Lock()
		defer mu.Unlock()
		relayed.Write(p)
	}
	w.listen()
	c := w.dial(tunnel.KindTCP)
	s, err := c.Open(t.Context(), tunnel.KindTCP, "secret-host.example:443")
	ok(t, err)
	for range 100 {
		_, err = s.Write(secret)
		ok(t, err)
	}
	ok(t, s.CloseWrite())
	got, err := io.ReadAll(s)
	ok(t, err)
	if !bytes.Equal(got, bytes.Repeat(secret, 100)) {
		t.Fatal("the echo is not what was sent")
	}
	mu.Lock()
	defer mu.Unlock()
	if relayed.Len() < 2*len(got) {
		t.Fatalf("the relay got %d bytes only: the test sees not all", relayed.Len())
	}
	for _, known := range [][]byte{secret, secret[:12], []byte("secret-host"), []byte(w.user.String()), []byte("coder client"), w.identity.Certificate()[:64]} {
		if bytes.Contains(relayed.Bytes(), known) {
			t.Errorf("the relay could read %q", known)
		}
	}
}

// refused dials and wants the error code.
func refused(t *testing.T, c tunnel.DialConfig, code codersdk.Code) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testwait.Limit)
	defer cancel()
	conn, err := tunnel.Dial(ctx, c)
	if err == nil {
		// TLS 1.3 lets the client finish first; the agent's no comes right after.
		_, err = conn.Open(ctx, tunnel.KindSSH, "")
		_ = conn.Close()
	}
	if !codersdk.Is(err, code) || ctx.Err() != nil {
		t.Fatalf("got %v, want an error with the code %s", err, code)
	}
}

func TestCertificates(t *testing.T) {
	w := newWorld(t)
	w.listen()
	other := w.grant(tunnel.KindSSH)
	other.AgentID = uuid.New()
	strangers, err := tunnel.NewAuthority(bytes.Repeat([]byte{7}, tunnel.SeedSize))
	ok(t, err)
	stranger, err := tunnel.NewIdentity()
	ok(t, err)

	issue := func(a *tunnel.Authority, at time.Time) tunnel.DialConfig {
		c := w.config(w.grant(tunnel.KindSSH))
		c.Certificate, err = a.Issue(c.Identity.PublicKey(), w.grant(tunnel.KindSSH), at)
		ok(t, err)
		return c
	}
	cases := map[string]func() tunnel.DialConfig{
		"for another agent":      func() tunnel.DialConfig { return w.config(other) },
		"of a foreign authority": func() tunnel.DialConfig { return issue(strangers, time.Now()) },
		"expired": func() tunnel.DialConfig {
			return issue(w.authority, time.Now().Add(-tunnel.CertificateLifetime-time.Minute))
		},
		"not valid yet": func() tunnel.DialConfig { return issue(w.authority, time.Now().Add(time.Hour)) },
		"of somebody else's key": func() tunnel.DialConfig {
			c := w.config(w.grant(tunnel.KindSSH))
			c.Identity = stranger
			return c
		},
		"self-signed": func() tunnel.DialConfig {
			c := w.config(w.grant(tunnel.KindSSH))
			c.Certificate = c.Identity.Certificate()
			return c
		},
		"forged in the name of the authority": func() tunnel.DialConfig {
			c := w.config(w.grant(tunnel.KindSSH))
			c.Identity, c.Certificate = forge(t, w)
			return c
		},
	}
	for name, config := range cases {
		t.Run(name, func(t *testing.T) { refused(t, config(), codersdk.CodeForbidden) })
	}
	t.Run("another agent's", func(t *testing.T) {
		// The relay tells agents apart too; here it is made to believe the client.
		c := w.config(w.grant(tunnel.KindSSH))
		dial := c.Relay
		c.AgentCertificate = stranger.Certificate()
		c.Relay = func(ctx context.Context) (relay.Link, error) {
			l, err := dial(ctx)
			return lyingLink{l, relay.InstanceOf(w.identity.Certificate())}, err
		}
		refused(t, c, codersdk.CodeForbidden)
	})
	t.Run("good", func(t *testing.T) { w.dial(tunnel.KindSSH) })
}

// forge makes a certificate that looks right but for the signature.
func forge(t *testing.T, w *world) (*tunnel.Identity, []byte) {
	id, err := tunnel.NewIdentity()
	ok(t, err)
	_, key, err := ed25519.GenerateKey(rand.Reader)
	ok(t, err)
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "coder tunnel authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	uri, err := url.Parse("coder://tunnel?actions=ssh&agent=" + w.agentID.String() + "&user=" + w.user.String() + "&workspace=" + uuid.NewString())
	ok(t, err)
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, URIs: []*url.URL{uri},
	}, ca, id.PublicKey(), key)
	ok(t, err)
	return id, der
}

// lyingLink attaches with another instance than the tunnel wants.
type lyingLink struct {
	relay.Link
	instance relay.Instance
}

func (l lyingLink) Send(text bool, p []byte) error {
	if f := strings.Fields(string(p)); text && len(f) == 3 {
		p = []byte(f[0] + " " + f[1] + " " + relay.Session(l.instance).String())
	}
	return l.Link.Send(text, p)
}

func TestActions(t *testing.T) {
	w := newWorld(t)
	w.listen()
	c := w.dial(tunnel.KindSSH)
	for _, kind := range []string{tunnel.KindTCP, tunnel.KindPTY, tunnel.KindAgentAPI, "made-up"} {
		_, err := c.Open(t.Context(), kind, "localhost:22")
		if !codersdk.Is(err, codersdk.CodePrecondition) || !strings.Contains(err.Error(), "may not use") {
			t.Errorf("%s: got %v", kind, err)
		}
	}
	if _, err := c.Open(t.Context(), tunnel.KindSSH, "refuse"); !codersdk.Is(err, codersdk.CodePrecondition) || !strings.Contains(err.Error(), io.ErrNoProgress.Error()) {
		t.Errorf("refused by the handler: got %v", err)
	}
	for _, bad := range [][2]string{{"", ""}, {"ssh x", ""}, {"ssh", "a\nb"}, {"ssh", strings.Repeat("x", 1024)}} {
		if _, err := c.Open(t.Context(), bad[0], bad[1]); err == nil {
			t.Errorf("%q could be opened", bad)
		}
	}
	s, err := c.Open(t.Context(), tunnel.KindSSH, "")
	ok(t, err)
	ok(t, s.Close())
}

// TestOutlivesCertificate shows that the time of the certificate is that of
// the handshake alone.
func TestOutlivesCertificate(t *testing.T) {
	w := newWorld(t)
	var mu sync.Mutex
	now := time.Now()
	w.listen(func(c *tunnel.ListenConfig) {
		c.Now = func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return now
		}
	})
	c := w.dial(tunnel.KindSSH)
	_, err := c.Ping(t.Context()) // the agent has checked
	ok(t, err)
	mu.Lock()
	now = now.Add(time.Hour)
	mu.Unlock()
	_, err = c.Open(t.Context(), tunnel.KindSSH, "")
	ok(t, err)
	refused(t, w.config(w.grant(tunnel.KindSSH)), codersdk.CodeForbidden)
}
