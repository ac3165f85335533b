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

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
	"github.com/seed-2a7f8fe7/coder/internal/share"
)

// Headers that a daemon authenticates with, in this order; else it has a
// user's session. (1.5.3 of the reference)
const (
	KeyHeader = "Coder-Provisioner-Daemon-Key"
	PSKHeader = "Coder-Provisioner-Daemon-PSK"
)

// DaemonInfo is a daemon that was let in.
type DaemonInfo struct {
	OrganizationID uuid.UUID
	KeyID          uuid.UUID
	Name           string
	Tags           coder.Tags // normalized
	Provisioners   []string
	Version        string
	APIVersion     string
	// Leases says that the daemon knows of fences and leases.
	Leases bool
	Slots  int      // connections it has, one for each job at once; 0 means 1
	Tools  []string // what it runs, such as terraform/1.11.4
	// Seat is that of one of the server's own which serves several
	// organizations, whatever OrganizationID says; nil for all others.
	Seat *share.Seat
}

// Daemon is what the queue knows of it.
func (d DaemonInfo) Daemon() queue.Daemon {
	return queue.Daemon{
		OrganizationID: d.OrganizationID, KeyID: d.KeyID, Name: d.Name, Tags: d.Tags,
		Provisioners: d.Provisioners, Version: d.Version, APIVersion: d.APIVersion,
		Slots: d.Slots, Tools: d.Tools,
	}
}

// BuiltIn describes a daemon inside the server's own process: organization
// scope, no tags. (PRV-01)
func BuiltIn(organizationID uuid.UUID, name, version string, provisioners []string) DaemonInfo {
	return DaemonInfo{
		OrganizationID: organizationID, KeyID: coder.ReservedProvisionerKey(coder.ProvisionerKeyBuiltIn), Name: name,
		Tags: coder.NormalizeTags(uuid.Nil, nil), Provisioners: provisioners, Version: version,
		APIVersion: coder.ProvisionerAPIVersion, Leases: true,
	}
}

// admit decides whether the request's daemon may connect, and as what.
func (a *API) admit(r *http.Request) (DaemonInfo, error) {
	key, psk := r.Header.Get(KeyHeader), r.Header.Get(PSKHeader)
	if key != "" && psk != "" {
		return DaemonInfo{}, coder.Errorf(coder.CodeInvalid, "A provisioner key and a PSK were given; give one of them")
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
	if psk != "" && coder.Is(err, coder.CodeUnauthenticated) {
		err = coder.Errorf(coder.CodeUnauthenticated, "The provisioner daemon PSK is not that of this server")
	}
	return d, err
}

// same compares in constant time, whatever the lengths.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// describe reads what the daemon says of itself, and the tags it asks for.
func describe(r *http.Request) (DaemonInfo, coder.Tags, error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil { // which has a limit of its own on how many there may be
		return DaemonInfo{}, nil, coder.Invalid("tag", "the parameters cannot be read, as %v; a provisioner has at most %d tags", err, coder.MaxTags)
	}
	d := DaemonInfo{
		Name: q.Get("name"), APIVersion: q.Get("version"), Version: r.Header.Get(client.BuildVersionHeader),
		Leases: slices.Contains(q[provisionerd.CapabilityParameter], provisionerd.CapabilityLease),
	}
	if d.APIVersion == "" {
		d.APIVersion = "1.0" // before the parameter was
	}
	if err := coder.CheckProvisionerAPIVersion(d.APIVersion); err != nil {
		return d, nil, err
	}
	if len(d.Name) > 64 || strings.ContainsFunc(d.Name, func(r rune) bool { return r < ' ' || r == 0x7f || r == 0xfffd }) {
		return d, nil, coder.Invalid("name", "%.70q is not a name of at most 64 printable characters", d.Name)
	}
	if d.Name == "" {
		d.Name = coder.RandomName()
	}
	for _, p := range q["provisioner"] {
		if p != "terraform" && p != "echo" {
			return d, nil, coder.Invalid("provisioner", "%.40q is neither terraform nor echo", p)
		}
		if !slices.Contains(d.Provisioners, p) {
			d.Provisioners = append(d.Provisioners, p)
		}
	}
	if len(d.Provisioners) == 0 {
		return d, nil, coder.Invalid("provisioner", "say what the provisioner can run: terraform or echo")
	}
	if err := readSlots(q, &d); err != nil {
		return d, nil, err
	}
	tags, err := readTags(q)
	return d, tags, err
}

// readSlots reads how many jobs the daemon takes at once, and with what.
func readSlots(q url.Values, d *DaemonInfo) error {
	d.Slots = 1
	if s := q.Get(provisionerd.SlotsParameter); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > provisionerd.MaxSlots {
			return coder.Invalid("slots", "%.20q is not a number from 1 to %d", s, provisionerd.MaxSlots)
		}
		d.Slots = n
	}
	d.Tools = q[provisionerd.ToolParameter]
	bad := func(t string) bool {
		return len(t) > 60 || strings.ContainsFunc(t, func(r rune) bool { return r <= ' ' || r > '~' })
	}
	if len(d.Tools) > 8 || slices.ContainsFunc(d.Tools, bad) {
		return coder.Invalid("tool", "give at most 8 tools, each as name/version")
	}
	return nil
}

func readTags(q url.Values) (coder.Tags, error) {
	tags := coder.Tags{}
	for _, t := range q["tag"] {
		k, v, ok := strings.Cut(t, "=")
		if !ok {
			return nil, coder.Invalid("tag", "%.80q is not of the form name=value", t)
		}
		tags[k] = v
	}
	if err := coder.CheckTags("tag", tags); err != nil {
		return nil, err
	}
	if s, ok := tags[coder.TagScope]; ok && s != coder.ScopeOrganization && s != coder.ScopeUser {
		return nil, coder.Invalid("tag", "scope=%.40s is neither scope=organization nor scope=user", s)
	}
	return tags, nil
}

// admitKey takes organization and tags from the key.
func (a *API) admitKey(r *http.Request, d *DaemonInfo, secret string) error {
	k, err := a.Keys.BySecret(r.Context(), secret)
	if err != nil {
		return err
	}
	org, err := a.Identity.OrganizationByRef(r.Context(), access.System(), r.PathValue("organization"))
	if err != nil || org.ID.String() != k.Organization {
		return coder.Errorf(coder.CodeUnauthenticated, "The provisioner key does not belong to this organization")
	}
	d.OrganizationID, d.KeyID = org.ID, k.ID
	d.Tags = coder.NormalizeTags(uuid.Nil, coder.Tags(k.Tags))
	return a.Keys.Used(r.Context(), k.ID)
}

// admitPSK takes the tags asked for, always in organization scope. (PRV-04)
func (a *API) admitPSK(r *http.Request, d *DaemonInfo, asked coder.Tags) error {
	org, err := a.Identity.OrganizationByRef(r.Context(), access.System(), r.PathValue("organization"))
	if err != nil {
		return err
	}
	if asked[coder.TagScope] == coder.ScopeUser {
		return coder.Invalid("tag", "a provisioner with a PSK always has organization scope; start it with a user's session for scope=user")
	}
	d.OrganizationID, d.KeyID = org.ID, coder.ReservedProvisionerKey(coder.ProvisionerKeyPSK)
	d.Tags = coder.NormalizeTags(uuid.Nil, asked)
	return nil
}

// admitUser lets those who may create provisioners start them for the
// organization, and every member start some for themselves.
func (a *API) admitUser(r *http.Request, d *DaemonInfo, asked coder.Tags) error {
	// Where it comes from is known to the edge that this one is mounted in.
	origin, _ := access.OriginOf(r.Context())
	token, _ := client.TokenOf(r)
	actor, err := a.Identity.Authenticate(r.Context(), token, origin)
	if err != nil {
		return err
	}
	org, err := a.Identity.OrganizationByRef(r.Context(), actor, r.PathValue("organization"))
	if err != nil {
		return err
	}
	object := access.Object{Type: coder.RBACResourceProvisionerDaemon, OrganizationID: org.ID}
	if asked[coder.TagScope] == coder.ScopeUser {
		object.OwnerID = actor.UserID
	}
	_, member := actor.OrganizationRoles[org.ID]
	own := object.OwnerID != uuid.Nil && member && !actor.Narrowed()
	if !own && !actor.Can(coder.RBACActionCreate, object) {
		return coder.Errorf(coder.CodeForbidden, "You may not start provisioners for this organization; with the tag scope=user you may start one for your own workspaces")
	}
	d.OrganizationID, d.KeyID = org.ID, coder.ReservedProvisionerKey(coder.ProvisionerKeyUserAuth)
	d.Tags = coder.NormalizeTags(actor.UserID, asked)
	return nil
}
