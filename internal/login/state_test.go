package login

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

func TestStates(t *testing.T) {
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	s, err := newSealer(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	other, err := newSealer([]byte(strings.Repeat("x", 32)))
	if err != nil {
		t.Fatal(err)
	}
	st := newState(codersdk.LoginTypeOIDC, "/x", "", now)
	cookie, err := s.seal(st)
	if err != nil || strings.Contains(cookie, st.Verifier) {
		t.Fatal(cookie, err)
	}
	if got, err := s.open(cookie, codersdk.LoginTypeOIDC, st.State, now.Add(StateLifetime-1)); err != nil || got != st {
		t.Errorf("%+v, %v", got, err)
	}
	for name, err := range map[string]error{
		"late":        second(s.open(cookie, codersdk.LoginTypeOIDC, st.State, now.Add(StateLifetime))),
		"another way": second(s.open(cookie, codersdk.LoginTypeGitHub, st.State, now)),
		"no state":    second(s.open(cookie, codersdk.LoginTypeOIDC, "", now)),
		"no cookie":   second(s.open("", codersdk.LoginTypeOIDC, st.State, now)),
		"elsewhere":   second(other.open(cookie, codersdk.LoginTypeOIDC, st.State, now)),
		"nonsense":    second(s.open("####", codersdk.LoginTypeOIDC, st.State, now)),
	} {
		if codersdk.CodeOf(err) != codersdk.CodeForbidden {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := newSealer(nil); err == nil {
		t.Error("no secret will do")
	}
}

func second(_ state, err error) error { return err }

// TestClientKey: the statement names the client, the endpoint and the
// certificate, and is signed by its key.
func TestClientKey(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{SerialNumber: big.NewInt(1)}, &x509.Certificate{SerialNumber: big.NewInt(1)}, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	keyFile, certFile := filepath.Join(t.TempDir(), "key"), filepath.Join(t.TempDir(), "cert")
	for file, block := range map[string]*pem.Block{keyFile: {Type: "PRIVATE KEY", Bytes: private}, certFile: {Type: "CERTIFICATE", Bytes: der}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	k, err := readClientKey(keyFile, certFile)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_900_000_000, 0)
	statement, err := k.sign("coder", "https://id.example.com/token", now)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(statement, ".")
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if err := rsa.VerifyPKCS1v15(&key.PublicKey, crypto.SHA256, sum[:], signature); err != nil {
		t.Error(err)
	}
	var body map[string]any
	plain, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(plain, &body) != nil {
		t.Fatal(err)
	}
	if body["iss"] != "coder" || body["sub"] != "coder" || body["aud"] != "https://id.example.com/token" || body["exp"] != float64(now.Add(assertionLifetime).Unix()) || body["jti"] == "" {
		t.Errorf("the statement: %v", body)
	}
}
