package agent_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/agent"
	"github.com/seed-2a7f8fe7/coder/internal/agenttest"
	"github.com/seed-2a7f8fe7/coder/internal/instance"
)

// amazon is a metadata service of version 2, for one machine.
func amazon(t *testing.T, id string) (url string, c *x509.Certificate) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	of := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, of, of, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	if c, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	document := `{"instanceId" : "` + id + `"}`
	sum := sha256.Sum256([]byte(document))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /latest/api/token", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("session")) })
	for path, text := range map[string]string{"document": document, "signature": base64.StdEncoding.EncodeToString(signature)} {
		mux.HandleFunc("GET /latest/dynamic/instance-identity/"+path, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-aws-ec2-metadata-token") != "session" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			_, _ = w.Write([]byte(text))
		})
	}
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv.URL, c
}

// An agent without a token gets it for what the cloud says of its machine, and
// another one when a newer build has made another agent on it.
func TestInstanceIdentity(t *testing.T) {
	h := agenttest.New(t)
	url, cert := amazon(t, "i-77")
	var err error
	if h.Instances, err = instance.New(instance.Config{AWS: []*x509.Certificate{cert}}); err != nil {
		t.Fatal(err)
	}
	u, _ := h.Serve("")
	on := func(id string) func(*provisioner.Agent) {
		return func(p *provisioner.Agent) { p.Auth = &provisioner.Agent_InstanceId{InstanceId: id} }
	}
	process(t, u, "", func(c *agent.Config) { c.Auth, c.MetadataURL = agent.AuthAWS, url })
	a := h.Workspace("ws", on("i-77")) // the machine is there before its build has ended
	other := h.Workspace("other", on("i-78"))
	reaches(t, h, a.ID, codersdk.WorkspaceAgentLifecycleReady)
	shell(t, h, a)
	b := h.Build(a.WorkspaceID, 2, codersdk.WorkspaceTransitionStart, "succeeded", on("i-77"))
	reaches(t, h, b.ID, codersdk.WorkspaceAgentLifecycleReady)
	if got, err := h.Presence.AgentForUser(t.Context(), h.Owner, other.ID, codersdk.RBACActionRead); err != nil || got.Status != codersdk.WorkspaceAgentStatusConnecting {
		t.Errorf("the agent of another machine is %s, %v", got.Status, err)
	}
	shell(t, h, b)

	name := ""
	ask := func() error {
		c := codersdk.New(u)
		doc := codersdk.AWSInstanceIdentityToken{Document: get(t, url+"/latest/dynamic/instance-identity/document"), Signature: get(t, url+"/latest/dynamic/instance-identity/signature")}
		doc.AgentName = name
		_, err := c.AuthenticateInstance(t.Context(), agent.AuthAWS, doc)
		return err
	}
	if err := ask(); err != nil {
		t.Error(err)
	}
	h.Workspace("twice", on("i-77"))
	if err := ask(); !codersdk.Is(err, codersdk.CodeConflict) {
		t.Errorf("two agents on one machine: %v", err)
	}
	h.Workspace("named", on("i-77"), func(p *provisioner.Agent) { p.Name = "second" })
	for selected, code := range map[string]codersdk.Code{"second": "", "main": codersdk.CodeConflict, "third": codersdk.CodeNotFound} {
		if name = selected; codersdk.CodeOf(ask()) != code {
			t.Errorf("the agent %q: %v, want code %q", name, ask(), code)
		}
	}
	name = "main"
	h.Delete(a.WorkspaceID)
	if err := ask(); err != nil {
		t.Errorf("one of the two was deleted: %v", err)
	}
	if _, err := codersdk.New(u).AuthenticateInstance(t.Context(), agent.AuthAWS, codersdk.AWSInstanceIdentityToken{Document: "{}", Signature: "AAAA"}); !codersdk.Is(err, codersdk.CodeUnauthenticated) {
		t.Errorf("a forged document: %v", err)
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-aws-ec2-metadata-token", "session")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
