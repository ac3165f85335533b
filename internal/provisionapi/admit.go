package provisionapi

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/fairshare"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
)

// Headers with which a daemon authenticates, in this order; without them it
// needs a user's session. (1.5.3 of the reference)
const (
	KeyHeader = "Coder-Provisioner-Daemon-Key"
	PSKHeader = "Coder-Provisioner-Daemon-PSK"
)

// DaemonInfo describes an admitted daemon.
type DaemonInfo struct {
	OrganizationID uuid.UUID
	KeyID          uuid.UUID
	Name           string
	Tags           codersdk.Tags // normalized
	Provisioners   []string
	Version        string
	APIVersion     string
	// Leases reports that the daemon supports fences and leases.
	Leases bool
	Slots  int      // its connections, one per concurrent job; 0 means 1
	Tools  []string // its tools with versions, such as terraform/1.11.4
	// Seat is set for a built-in daemon that serves several organizations, and
	// then replaces OrganizationID; nil otherwise.
	Seat *fairshare.Seat
}

// Daemon returns the queue's record of the daemon.
func (d DaemonInfo) Daemon() queue.Daemon {
	return queue.Daemon{
		OrganizationID: d.OrganizationID, KeyID: d.KeyID, Name: d.Name, Tags: d.Tags,
		Provisioners: d.Provisioners, Version: d.Version, APIVersion: d.APIVersion,
		Slots: d.Slots, Tools: d.Tools,
	}
}

// BuiltIn describes a daemon in the server's process: organization scope, no
// tags. (PRV-01)
func BuiltIn(organizationID uuid.UUID, name, version string, provisioners []string) DaemonInfo {
	return DaemonInfo{
		OrganizationID: organizationID, KeyID: codersdk.ReservedProvisionerKey(codersdk.ProvisionerKeyBuiltIn), Name: name,
		Tags: codersdk.NormalizeTags(uuid.Nil, nil), Provisioners: provisioners, Version: version,
		APIVersion: codersdk.ProvisionerAPIVersion, Leases: true,
	}
}

// admit decides whether a daemon may connect, and with which organization and
// tags.
func (a *API) admit(r *http.Request) (DaemonInfo, error) {
	key, psk := r.Header.Get(KeyHeader), r.Header.Get(PSKHeader)
	if key != "" && psk != "" {
		return DaemonInfo{}, codersdk.Errorf(codersdk.CodeInvalid, "A provisioner key and a PSK are both set; give one of them")
	}
	d, asked, err := describe(r)
	if err != nil {
		return d, err
	}
	switch {
	case key != "":
		return d, a.admitKey(r, &d, key)
	case psk != "" && a.PSK != "" && same(psk, a.PSK):
		return d, a.admitPSK(r, &d, asked)
	}
	err = a.admitUser(r, &d, asked)
	if psk != "" && codersdk.Is(err, codersdk.CodeUnauthenticated) {
		err = codersdk.Errorf(codersdk.CodeUnauthenticated, "The provisioner daemon PSK is wrong; use the PSK of this server")
	}
	return d, err
}

// Authenticate checks that a request has the key or PSK of a provisioner, or a user's token, whatever the
// organization.
func (a *API) Authenticate(r *http.Request) error {
	if key := r.Header.Get(KeyHeader); key != "" {
		_, err := a.Keys.BySecret(r.Context(), key)
		return err
	}
	if psk := r.Header.Get(PSKHeader); psk != "" && a.PSK != "" && same(psk, a.PSK) {
		return nil
	}
	origin, _ := access.OriginOf(r.Context())
	token, _ := codersdk.TokenOf(r)
	_, err := a.Identity.Authenticate(r.Context(), token, origin)
	return err
}

// same compares two secrets in constant time, whatever their lengths.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// describe reads the daemon's description of itself, and the tags that it
// requests.
func describe(r *http.Request) (DaemonInfo, codersdk.Tags, error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil { // net/url limits the number of parameters
		return DaemonInfo{}, nil, codersdk.Invalid("tag", "the query is invalid: %v; a provisioner has at most %d tags", err, codersdk.MaxTags)
	}
	d := DaemonInfo{
		Name: q.Get("name"), APIVersion: q.Get("version"), Version: r.Header.Get(codersdk.BuildVersionHeader),
		Leases: slices.Contains(q[provisionerd.CapabilityParameter], provisionerd.CapabilityLease),
	}
	if d.APIVersion == "" {
		d.APIVersion = "1.0" // older daemons do not send it
	}
	if err := codersdk.CheckProvisionerAPIVersion(d.APIVersion); err != nil {
		return d, nil, err
	}
	if len(d.Name) > 64 || strings.ContainsFunc(d.Name, func(r rune) bool { return r < ' ' || r == 0x7f || r == 0xfffd }) {
		return d, nil, codersdk.Invalid("name", "%.70q is not a name: use at most 64 printable characters", d.Name)
	}
	if d.Name == "" {
		d.Name = codersdk.RandomName()
	}
	for _, p := range q["provisioner"] {
		if p != "terraform" && p != "echo" {
			return d, nil, codersdk.Invalid("provisioner", "%.40q is not a provisioner type; use terraform or echo", p)
		}
		if !slices.Contains(d.Provisioners, p) {
			d.Provisioners = append(d.Provisioners, p)
		}
	}
	if len(d.Provisioners) == 0 {
		return d, nil, codersdk.Invalid("provisioner", "name at least one provisioner type: terraform or echo")
	}
	if err := readSlots(q, &d); err != nil {
		return d, nil, err
	}
	tags, err := readTags(q)
	return d, tags, err
}

// readSlots reads the number of concurrent jobs and the tools of the daemon.
func readSlots(q url.Values, d *DaemonInfo) error {
	d.Slots = 1
	if s := q.Get(provisionerd.SlotsParameter); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > provisionerd.MaxSlots {
			return codersdk.Invalid("slots", "%.20q is not a number from 1 to %d", s, provisionerd.MaxSlots)
		}
		d.Slots = n
	}
	d.Tools = q[provisionerd.ToolParameter]
	bad := func(t string) bool {
		return len(t) > 60 || strings.ContainsFunc(t, func(r rune) bool { return r <= ' ' || r > '~' })
	}
	if len(d.Tools) > 8 || slices.ContainsFunc(d.Tools, bad) {
		return codersdk.Invalid("tool", "list at most 8 tools, each as name/version")
	}
	return nil
}

func readTags(q url.Values) (codersdk.Tags, error) {
	tags := codersdk.Tags{}
	for _, t := range q["tag"] {
		k, v, ok := strings.Cut(t, "=")
		if !ok {
			return nil, codersdk.Invalid("tag", "%.80q is not of the form name=value", t)
		}
		tags[k] = v
	}
	if err := codersdk.CheckTags("tag", tags); err != nil {
		return nil, err
	}
	if s, ok := tags[codersdk.TagScope]; ok && s != codersdk.ScopeOrganization && s != codersdk.ScopeUser {
		return nil, codersdk.Invalid("tag", "scope=%.40s is neither scope=organization nor scope=user", s)
	}
	return tags, nil
}

// admitKey takes the organization and the tags from the provisioner key.
func (a *API) admitKey(r *http.Request, d *DaemonInfo, secret string) error {
	k, err := a.Keys.BySecret(r.Context(), secret)
	if err != nil {
		return err
	}
	org, err := a.Identity.OrganizationByRef(r.Context(), access.System(), r.PathValue("organization"))
	if err != nil || org.ID.String() != k.Organization {
		return codersdk.Errorf(codersdk.CodeUnauthenticated, "The provisioner key does not belong to this organization")
	}
	d.OrganizationID, d.KeyID = org.ID, k.ID
	d.Tags = codersdk.NormalizeTags(uuid.Nil, codersdk.Tags(k.Tags))
	return a.Keys.Used(r.Context(), k.ID)
}

// admitPSK takes the requested tags, always in organization scope. (PRV-04)
func (a *API) admitPSK(r *http.Request, d *DaemonInfo, asked codersdk.Tags) error {
	org, err := a.Identity.OrganizationByRef(r.Context(), access.System(), r.PathValue("organization"))
	if err != nil {
		return err
	}
	if asked[codersdk.TagScope] == codersdk.ScopeUser {
		return codersdk.Invalid("tag", "a provisioner with a PSK always has organization scope; for scope=user, start it with a user's session")
	}
	d.OrganizationID, d.KeyID = org.ID, codersdk.ReservedProvisionerKey(codersdk.ProvisionerKeyPSK)
	d.Tags = codersdk.NormalizeTags(uuid.Nil, asked)
	return nil
}

// admitUser lets users who may create provisioners start them for the
// organization, and every member start some for their own workspaces.
func (a *API) admitUser(r *http.Request, d *DaemonInfo, asked codersdk.Tags) error {
	// The package that mounts this one has determined the origin.
	origin, _ := access.OriginOf(r.Context())
	token, _ := codersdk.TokenOf(r)
	actor, err := a.Identity.Authenticate(r.Context(), token, origin)
	if err != nil {
		return err
	}
	org, err := a.Identity.OrganizationByRef(r.Context(), actor, r.PathValue("organization"))
	if err != nil {
		return err
	}
	object := access.Object{Type: codersdk.RBACResourceProvisionerDaemon, OrganizationID: org.ID}
	if asked[codersdk.TagScope] == codersdk.ScopeUser {
		object.OwnerID = actor.UserID
	}
	_, member := actor.OrganizationRoles[org.ID]
	own := object.OwnerID != uuid.Nil && member && !actor.Narrowed()
	if !own && !actor.Can(codersdk.RBACActionCreate, object) {
		return codersdk.Errorf(codersdk.CodeForbidden,
			"You do not have permission to start provisioners for this organization; add the tag scope=user to start one for your own workspaces")
	}
	d.OrganizationID, d.KeyID = org.ID, codersdk.ReservedProvisionerKey(codersdk.ProvisionerKeyUserAuth)
	d.Tags = codersdk.NormalizeTags(actor.UserID, asked)
	return nil
}
