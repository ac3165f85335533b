package provisionapi_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
	"github.com/seed-2a7f8fe7/coder/internal/provisionapi"
	daemon "github.com/seed-2a7f8fe7/coder/internal/provisionerd"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// town is a house behind HTTP, with an owner, a member and another organization.
type town struct {
	*house
	client                   *codersdk.Client
	owner, member            string // tokens
	ownerSubject             access.Subject
	ownerID, memberID, other uuid.UUID
}

func newTown(t *testing.T) *town {
	t.Helper()
	return newTownWith(t, time.Minute)
}

// newTownWith is newTown with a lease of jobs. For as long, the server ends no job
// after its start, because the daemons of an earlier one may come back.
func newTownWith(t *testing.T, lease time.Duration) *town {
	t.Helper()
	h := newHouse(t, queue.Config{Lease: lease, Reap: 50 * time.Millisecond})
	mux := http.NewServeMux()
	mux.Handle(provisionapi.Pattern, h.Handler())
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	u, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	w := &town{house: h, client: codersdk.New(u)}
	ids := identity.New(identity.Config{Store: h.store, Log: slog.New(slog.DiscardHandler)})
	ctx, none := t.Context(), access.Origin{}
	const password = "correct horse battery staple"
	first, err := ids.CreateFirstUser(ctx, none, codersdk.CreateFirstUserRequest{Email: "o@example.com", Username: "owner", Password: password})
	if err != nil {
		t.Fatal(err)
	}
	w.ownerID = first.UserID
	login := func(email string) (string, access.Subject) {
		l, err := ids.Login(ctx, none, codersdk.LoginWithPasswordRequest{Email: email, Password: password})
		if err != nil {
			t.Fatal(err)
		}
		s, err := ids.Authenticate(ctx, l.SessionToken, none)
		if err != nil {
			t.Fatal(err)
		}
		return l.SessionToken, s
	}
	w.owner, w.ownerSubject = login("o@example.com")
	m, err := ids.CreateUser(ctx, w.ownerSubject, codersdk.CreateUserRequestWithOrgs{Email: "m@example.com", Username: "member", Password: password, UserStatus: codersdk.UserStatusActive, OrganizationIDs: []uuid.UUID{h.org}})
	if err != nil {
		t.Fatal(err)
	}
	w.memberID = m.ID
	w.member, _ = login("m@example.com")
	o, err := ids.CreateOrganization(ctx, w.ownerSubject, codersdk.CreateOrganizationRequest{Name: "other"})
	if err != nil {
		t.Fatal(err)
	}
	w.other = o.ID
	return w
}

func (w *town) key(t *testing.T, org uuid.UUID, name string, tags map[string]string) string {
	t.Helper()
	created, err := w.ring.Create(t.Context(), w.ownerSubject, org, codersdk.CreateProvisionerKeyRequest{Name: name, Tags: tags})
	if err != nil {
		t.Fatal(err)
	}
	return created.Key
}

// knock makes the request of a daemon that does not upgrade, and gives the
// refusal; 426 means that it would have been let in.
func (w *town) knock(t *testing.T, org, query string, header map[string]string) (int, codersdk.Response) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.client.URL.String()+"/api/v2/organizations/"+org+"/provisionerdaemons/serve?"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var r codersdk.Response
	if resp.StatusCode != http.StatusUpgradeRequired && (json.Unmarshal(b, &r) != nil || r.Message == "") {
		t.Errorf("status %d has the body %q", resp.StatusCode, b)
	}
	return resp.StatusCode, r
}

func TestAdmission(t *testing.T) {
	w := newTown(t)
	key := w.key(t, w.org, "plain", nil)
	gone, lapsed := w.key(t, w.org, "gone", nil), w.key(t, w.org, "lapsed", nil)
	for _, k := range w.keys(t) {
		if k.Name == "lapsed" {
			w.lapse(t, k.ID)
		}
	}
	if err := w.ring.Delete(t.Context(), w.ownerSubject, w.org, "gone"); err != nil {
		t.Fatal(err)
	}
	const K, P, S = provisionapi.KeyHeader, provisionapi.PSKHeader, codersdk.SessionTokenHeader
	const base = "version=1.14&version=1.14&name=d&provisioner=echo&provisioner=terraform"
	const in = http.StatusUpgradeRequired
	tooMany := base
	for range 100 {
		tooMany += "&tag=" + uuid.NewString() + "=x"
	}
	for name, c := range map[string]struct {
		org, query string
		header     map[string]string
		want       int
	}{
		"key":                             {"default", base, map[string]string{K: key}, in},
		"key, organization by id":         {w.org.String(), base, map[string]string{K: key}, in},
		"key and PSK":                     {"default", base, map[string]string{K: key, P: psk}, 400},
		"wrong key":                       {"default", base, map[string]string{K: "nonsense"}, 401},
		"wrong key beats right session":   {"default", base, map[string]string{K: "nonsense", S: w.owner}, 401},
		"key of another organization":     {w.other.String(), base, map[string]string{K: key}, 401},
		"key and unknown organization":    {"nowhere", base, map[string]string{K: key}, 401},
		"deleted key":                     {"default", base, map[string]string{K: gone}, 401},
		"expired key":                     {"default", base, map[string]string{K: lapsed}, 401},
		"expired key beats right session": {"default", base, map[string]string{K: lapsed, S: w.owner}, 401},
		"key of the name, not the secret": {"default", base, map[string]string{K: "plain"}, 401},
		"wrong key and PSK":               {"default", base, map[string]string{K: "nonsense", P: "x"}, 400},
		"key, whatever tags are asked":    {"default", base + "&tag=scope=user&tag=a=b", map[string]string{K: key}, in},
		"PSK":                             {"default", base, map[string]string{P: psk}, in},
		"PSK beats a wrong session":       {"default", base, map[string]string{P: psk, S: "nonsense"}, in},
		"PSK with the owner tag":          {"default", base + "&tag=owner=someone", map[string]string{P: psk}, in},
		"wrong PSK, member":               {"default", base, map[string]string{P: "x", S: w.member}, 403},
		"wrong PSK, wrong session":        {"default", base, map[string]string{P: "x", S: "nonsense"}, 401},
		"bearer":                          {"default", base, map[string]string{"Authorization": "Bearer " + w.owner}, in},
		"member, owner of someone else":   {"default", base + "&tag=scope=user&tag=owner=" + w.ownerID.String(), map[string]string{S: w.member}, in},
		"member, organization scope":      {"default", base + "&tag=scope=organization", map[string]string{S: w.member}, 403},
		"member, tags":                    {"default", base + "&tag=a=b", map[string]string{S: w.member}, 403},
		"PSK with tags":                   {"other", base + "&tag=a=b", map[string]string{P: psk}, in},
		"PSK with user scope":             {"default", base + "&tag=scope=user", map[string]string{P: psk}, 400},
		"PSK and unknown organization":    {"nowhere", base, map[string]string{P: psk}, 404},
		"wrong PSK":                       {"default", base, map[string]string{P: psk + "x"}, 401},
		"wrong PSK, right session":        {"default", base, map[string]string{P: "x", S: w.owner}, in},
		"nothing":                         {"default", base, nil, 401},
		"owner":                           {"default", base, map[string]string{S: w.owner}, in},
		"owner, cookie":                   {"default", base, map[string]string{"Cookie": "coder_session_token=" + w.owner}, in},
		"wrong session":                   {"default", base, map[string]string{S: "nonsense"}, 401},
		"member":                          {"default", base, map[string]string{S: w.member}, 403},
		"member, user scope":              {"default", base + "&tag=scope=user", map[string]string{S: w.member}, in},
		"member of another":               {"other", base + "&tag=scope=user", map[string]string{S: w.member}, 404},
		"too new":                         {"default", "version=1.15&provisioner=echo", map[string]string{P: psk}, 400},
		"other major":                     {"default", "version=2.0&provisioner=echo", map[string]string{P: psk}, 400},
		"old":                             {"default", "version=1.2&name=d&provisioner=echo", map[string]string{P: psk}, in},
		"oldest":                          {"default", "provisioner=echo", map[string]string{P: psk}, in},
		"no provisioner":                  {"default", "version=1.14&name=d", map[string]string{P: psk}, 400},
		"unknown provisioner":             {"default", "version=1.14&provisioner=pulumi", map[string]string{P: psk}, 400},
		"tag without value":               {"default", base + "&tag=a", map[string]string{P: psk}, 400},
		"tag without name":                {"default", base + "&tag==a", map[string]string{P: psk}, 400},
		"slots and tools":                 {"default", base + "&slots=4&tool=tofu/1.9.0", map[string]string{P: psk}, in},
		"no slots":                        {"default", base + "&slots=0", map[string]string{P: psk}, 400},
		"too many slots":                  {"default", base + "&slots=1001", map[string]string{P: psk}, 400},
		"slots that are no number":        {"default", base + "&slots=four", map[string]string{P: psk}, 400},
		"tool with a line break":          {"default", base + "&tool=a%0Ab", map[string]string{P: psk}, 400},
		"unknown scope":                   {"default", base + "&tag=scope=galaxy", map[string]string{P: psk}, 400},
		"a hundred tags":                  {"default", tooMany, map[string]string{P: psk}, 400},
		"name with a line break":          {"default", "version=1.14&name=a%0Ab&provisioner=echo", map[string]string{P: psk}, 400},
		"name that is not text":           {"default", "version=1.14&name=%ff&provisioner=echo", map[string]string{P: psk}, 400},
		"right key where names are false": {"default", base + "&name=x", map[string]string{K: key}, in},
	} {
		if got, body := w.knock(t, c.org, c.query, c.header); got != c.want {
			t.Errorf("%s: status %d (%s), want %d", name, got, body.Message, c.want)
		}
	}
}

// TestTagsOfAdmitted connects for real and looks at the daemon's row.
func TestTagsOfAdmitted(t *testing.T) {
	w := newTown(t)
	key := w.key(t, w.org, "tagged", map[string]string{"a": "b"})
	for name, c := range map[string]struct {
		dialer daemon.WebSocket
		token  string
		tags   codersdk.Tags
		key    string
	}{
		"key":    {daemon.WebSocket{Key: key, Tags: codersdk.Tags{"ignored": "x"}}, "", codersdk.Tags{"scope": "organization", "owner": "", "a": "b"}, "tagged"},
		"psk":    {daemon.WebSocket{PSK: psk, Tags: codersdk.Tags{"c": "d", "owner": "me"}}, "", codersdk.Tags{"scope": "organization", "owner": "", "c": "d"}, "psk"},
		"member": {daemon.WebSocket{Tags: codersdk.Tags{"scope": "user", "owner": w.ownerID.String()}}, w.member, codersdk.Tags{"scope": "user", "owner": w.memberID.String()}, "user-auth"},
	} {
		cl := *w.client
		cl.SessionToken = c.token
		c.dialer.Client, c.dialer.Name, c.dialer.Provisioners, c.dialer.Version = &cl, "d-"+name, []string{"echo"}, "v1.2.3"
		conn, err := c.dialer.Dial(t.Context())
		if err != nil {
			t.Fatal(name, err)
		}
		// A call that returns shows that the connection is up and the row written.
		if _, err := provisionerd.NewDRPCProvisionerDaemonClient(conn).CommitQuota(t.Context(), &provisionerd.CommitQuotaRequest{}); err != nil {
			t.Fatal(name, err)
		}
		daemons, err := w.queue.Daemons(t.Context(), access.System(), w.org, queue.DaemonFilter{Tags: c.tags})
		if err != nil || len(daemons) != 1 {
			t.Fatalf("%s: daemons are %v, %v", name, daemons, err)
		}
		d := daemons[0]
		if d.Name != "d-"+name || len(d.Tags) != len(c.tags) || d.KeyName != c.key || d.Version != "v1.2.3" || d.APIVersion != "1.14" || d.Status != codersdk.ProvisionerDaemonStatusIdle {
			t.Errorf("%s: the daemon's row is %+v", name, d)
		}
		conn.Close()
	}
}

func TestExternalDaemonRunsAJob(t *testing.T) {
	w := newTown(t)
	dialer := daemon.WebSocket{Client: w.client, PSK: psk, Name: "far", Provisioners: []string{"echo"}, Version: "v0"}
	w.daemon(t, dialer.Dial)
	// 6 MiB of state and as much archive are more than the original's messages.
	id := w.add(t, build, map[string]string{"apply.jsonl": `{"state": "` + strings.Repeat("x", 6<<20) + `"}`})
	j, _ := w.ends(t, id)
	if j.Status != codersdk.ProvisionerJobStatusSucceeded || j.WorkerName != "far" {
		t.Fatalf("job ended as %s: %s", j.Status, j.Error)
	}
	if len(w.done[id].GetWorkspaceBuild().State) != 6<<20 {
		t.Error("the state is not whole")
	}
}

func TestRefusedDaemonSaysSo(t *testing.T) {
	w := newTown(t)
	for want, c := range map[string]struct {
		dialer daemon.WebSocket
		code   codersdk.Code
	}{
		"provisioner key":       {daemon.WebSocket{Key: "nonsense"}, codersdk.CodeUnauthenticated},
		`organization "nosuch"`: {daemon.WebSocket{PSK: psk, Organization: "nosuch"}, codersdk.CodeNotFound},
	} {
		c.dialer.Client, c.dialer.Provisioners = w.client, []string{"echo"}
		d := w.daemon(t, c.dialer.Dial)
		if err := testwait.Receive(t, "the daemon says that it was refused", d.Refused()); !codersdk.Is(err, c.code) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v is not %s with %s", err, c.code, want)
		}
	}
}

func TestKeys(t *testing.T) {
	w := newTown(t)
	ctx, owner := t.Context(), w.ownerSubject
	secret := w.key(t, w.org, "CI", map[string]string{"a": "b"})
	for _, bad := range []codersdk.CreateProvisionerKeyRequest{
		{Name: "ci"}, {Name: ""}, {Name: "psk"}, {Name: "Built-In"}, {Name: "a b"}, {Name: "x", Tags: map[string]string{"scope": "user"}},
		{Name: "x", Tags: map[string]string{"owner": ""}}, {Name: "x", Tags: map[string]string{"": "y"}},
	} {
		if _, err := w.ring.Create(ctx, owner, w.org, bad); !codersdk.Is(err, codersdk.CodeInvalid, codersdk.CodeConflict) {
			t.Errorf("%+v: %v, want a refusal", bad, err)
		}
	}
	if _, err := w.ring.Create(ctx, owner, w.other, codersdk.CreateProvisionerKeyRequest{Name: "CI"}); err != nil {
		t.Error("the name is free in another organization:", err)
	}
	k, err := w.ring.BySecret(ctx, secret)
	if err != nil || k.Name != "CI" || k.Organization != w.org.String() || k.Tags["a"] != "b" {
		t.Errorf("the key of the secret is %+v, %v", k, err)
	}
	member := access.Subject{UserID: w.memberID, OrganizationRoles: map[uuid.UUID][]string{w.org: {}}}
	if err := w.ring.Delete(ctx, member, w.org, "ci"); err == nil {
		t.Error("a member deleted a key")
	}
	if err := w.ring.Delete(ctx, owner, w.org, "psk"); !codersdk.Is(err, codersdk.CodeInvalid) {
		t.Error("a reserved key was deleted:", err)
	}
	if err := w.ring.Delete(ctx, owner, w.org, "ci"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.ring.BySecret(ctx, secret); !codersdk.Is(err, codersdk.CodeUnauthenticated) {
		t.Error("a deleted key is still good:", err)
	}
}

// TestGarbage sends bytes that are no yamux over an admitted connection.
func TestGarbage(t *testing.T) {
	w := newTown(t)
	w.daemon(t, nil)
	cl := *w.client
	cl.Header = http.Header{provisionapi.PSKHeader: {psk}}
	ws, err := cl.Dial(t.Context(), "/organizations/default/provisionerdaemons/serve", url.Values{"provisioner": {"echo"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), testwait.Limit)
	defer cancel()
	if err := ws.Write(ctx, 2, []byte(strings.Repeat("garbage", 1000))); err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, _, err = ws.Read(ctx)
	}
	if ctx.Err() != nil {
		t.Fatal("the connection stays open")
	}
	if j, _ := w.ends(t, w.add(t, build, nil)); j.Status != codersdk.ProvisionerJobStatusSucceeded {
		t.Fatalf("another daemon was disturbed: %s", j.Error)
	}
}
