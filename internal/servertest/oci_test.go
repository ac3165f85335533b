package servertest_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/servertest"
	"github.com/seed-2a7f8fe7/coder/internal/testtar"
)

// TestOCIRegistry reads a published module with the credentials that the registry accepts.
func TestOCIRegistry(t *testing.T) {
	s := servertest.Start(t, func(c *server.Config) {
		c.Mirror.Enable, c.Mirror.MaxBytes = true, 1<<30
		c.Network.RedirectToAccessURL = true
	})
	home := "coder.example.com/platform/home/docker"
	files := testtar.Of(t, map[string]string{"main.tf": "output \"text\" {\n  value = \"published\"\n}\n"})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.AccessURL().String()+"/api/v2/mirror/modules/"+home+"/1.0.0", bytes.NewReader(files))
	must(t, err)
	req.Header.Set(codersdk.SessionTokenHeader, s.Client.SessionToken)
	resp, err := http.DefaultClient.Do(req)
	must(t, err)
	resp.Body.Close() //nolint:errcheck // it was read or not
	if resp.StatusCode != http.StatusCreated {
		t.Fatalf("publish: %s", resp.Status)
	}
	member, _ := s.Member(t, "jane")
	token, err := member.CreateToken(t.Context(), "me", codersdk.CreateTokenRequest{TokenName: "oci"})
	must(t, err)
	key, err := s.Client.CreateProvisionerKey(t.Context(), s.First.OrganizationID.String(), codersdk.CreateProvisionerKeyRequest{Name: "oci"})
	must(t, err)
	for name, c := range map[string]struct {
		password string
		status   int
	}{
		"session": {member.SessionToken, 200}, "token": {token.Key, 200}, "key of a provisioner": {key.Key, 200},
		"the user's password": {servertest.Password, 401}, "no password": {"", 401},
	} {
		if status, body := getRegistry(t, s, "/v2/"+home+"/tags/list", c.password); status != c.status || status == 200 && string(body) != `{"name":"`+home+`","tags":["1.0.0"]}`+"\n" {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
}

// TestNoOCIRegistry has a server without a mirror.
func TestNoOCIRegistry(t *testing.T) {
	s := servertest.Start(t, nil)
	for _, path := range []string{"/v2/", "/v2", "/v2/registry.opentofu.org/hashicorp/random/tags/list"} {
		if status, body := getRegistry(t, s, path, s.Client.SessionToken); status != 404 || !json.Valid(body) {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}

// getRegistry requests a path as another host, with a password if there is one.
func getRegistry(t *testing.T, s *servertest.Server, path, password string) (int, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.AccessURL().String()+path, nil)
	must(t, err)
	req.Host = "registry.example.com"
	if password != "" {
		req.SetBasicAuth("any", password)
	}
	resp, err := http.DefaultClient.Do(req)
	must(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	must(t, err)
	return resp.StatusCode, body
}
