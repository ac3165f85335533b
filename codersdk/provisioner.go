package codersdk

import (
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// ProvisionerDaemon is a process that runs jobs.
type ProvisionerDaemon struct {
	APIVersion     string                  `json:"api_version"`
	BusySlots      int                     `json:"busy_slots"` // the provisioner is busy when all slots are
	CreatedAt      time.Time               `json:"created_at"`
	CurrentJob     *ProvisionerDaemonJob   `json:"current_job,omitempty"`
	ID             uuid.UUID               `json:"id"`
	KeyID          uuid.UUID               `json:"key_id"`
	KeyName        string                  `json:"key_name"`
	LastSeenAt     *time.Time              `json:"last_seen_at,omitempty"`
	Name           string                  `json:"name"`
	OrganizationID uuid.UUID               `json:"organization_id"`
	PreviousJob    *ProvisionerDaemonJob   `json:"previous_job,omitempty"`
	Provisioners   []string                `json:"provisioners"`
	Slots          int                     `json:"slots"` // maximum number of concurrent jobs
	Status         ProvisionerDaemonStatus `json:"status"`
	Tags           map[string]string       `json:"tags"`
	Tools          []string                `json:"tools"` // tools and versions, such as terraform/1.11.4
	Version        string                  `json:"version"`
	Warnings       []HealthMessage         `json:"warnings,omitempty"` // warnings about its versions
}

// ProvisionerDaemonJob is the job that a provisioner runs, or ran last.
type ProvisionerDaemonJob struct {
	ID                  uuid.UUID            `json:"id"`
	Status              ProvisionerJobStatus `json:"status"`
	TemplateDisplayName string               `json:"template_display_name"`
	TemplateIcon        string               `json:"template_icon"`
	TemplateName        string               `json:"template_name"`
}

// ProvisionerDaemonStatus is the state of a provisioner: offline, idle or busy.
type ProvisionerDaemonStatus string

// Values of ProvisionerDaemonStatus.
const (
	ProvisionerDaemonStatusBusy    ProvisionerDaemonStatus = "busy"
	ProvisionerDaemonStatusIdle    ProvisionerDaemonStatus = "idle"
	ProvisionerDaemonStatusOffline ProvisionerDaemonStatus = "offline"
)

// ProvisionerKey lets provisioners of one organization connect with fixed tags.
// Several keys can have one name: the current key, and replaced keys, which stay
// valid until they expire.
type ProvisionerKey struct {
	CreatedAt    time.Time          `json:"created_at"`
	ExpiresAt    *time.Time         `json:"expires_at,omitempty"` // nil if the key is valid until it is deleted
	ID           uuid.UUID          `json:"id"`
	LastUsedAt   *time.Time         `json:"last_used_at,omitempty"` // accurate to about a minute; nil for never
	Name         string             `json:"name"`
	Organization string             `json:"organization"`
	ReplacedAt   *time.Time         `json:"replaced_at,omitempty"` // time of the rotation that replaced the key; nil for the current key
	Tags         ProvisionerKeyTags `json:"tags"`
}

// ProvisionerKeyTags are the tags of a provisioner key.
type ProvisionerKeyTags map[string]string

// ProvisionerKeyDaemons lists the provisioners that connected with a key.
type ProvisionerKeyDaemons struct {
	Daemons []ProvisionerDaemon `json:"daemons"`
	Key     ProvisionerKey      `json:"key"`
}

// CreateProvisionerKeyResponse carries the secret of a new key. It is returned once.
type CreateProvisionerKeyResponse struct {
	Key            string          `json:"key"`
	ProvisionerKey *ProvisionerKey `json:"provisioner_key,omitempty"` // the new key; nil from older servers
}

// CreateProvisionerKeyRequest creates a provisioner key. (PRV-09)
type CreateProvisionerKeyRequest struct {
	// ExpiresInSeconds is the lifetime of the key, at most MaxProvisionerKeySeconds;
	// 0 means until it is deleted.
	ExpiresInSeconds int64             `json:"expires_in_seconds,omitempty"`
	Name             string            `json:"name"`
	Tags             map[string]string `json:"tags,omitempty"`
}

// RotateProvisionerKeyRequest replaces a key by a new key with the same name, and
// the same or other tags.
type RotateProvisionerKeyRequest struct {
	// ExpiresInSeconds is the lifetime of the new key; 0 means the lifetime of the
	// old key.
	ExpiresInSeconds int64 `json:"expires_in_seconds,omitempty"`
	// GraceSeconds is how long the old key stays valid beside the new key, at most
	// MaxProvisionerKeySeconds and never longer than before; 0 revokes it at once.
	GraceSeconds int64 `json:"grace_seconds"`
	// Tags of the new key. If empty, it gets the tags of the old key, unless
	// ReplaceTags is set. The old key keeps its tags.
	Tags map[string]string `json:"tags,omitempty"`
	// ReplaceTags applies Tags even if it is empty.
	ReplaceTags bool `json:"replace_tags,omitempty"`
}

// RotateProvisionerKeyResponse carries the secret of the new key. It is returned once.
type RotateProvisionerKeyResponse struct {
	ExpiresAt    *time.Time `json:"expires_at,omitempty"` // expiry of the new key; nil for never
	Key          string     `json:"key"`
	OldExpiresAt time.Time  `json:"old_expires_at"`
}

// MaxProvisionerKeySeconds is the longest lifetime of a key, and the longest grace
// period of a replaced key: ten years.
const MaxProvisionerKeySeconds = 10 * 365 * 24 * 60 * 60

// Reserved key names, for provisioners that connected without a key. (PRV-09)
const (
	ProvisionerKeyBuiltIn  = "built-in"
	ProvisionerKeyUserAuth = "user-auth"
	ProvisionerKeyPSK      = "psk"
)

// ReservedProvisionerKey returns the ID of a reserved key, or Nil for other names.
func ReservedProvisionerKey(name string) uuid.UUID {
	id := uuid.UUID{}
	switch strings.ToLower(name) {
	case ProvisionerKeyBuiltIn:
		id[15] = 1
	case ProvisionerKeyUserAuth:
		id[15] = 2
	case ProvisionerKeyPSK:
		id[15] = 3
	}
	return id
}

// ReservedProvisionerKeyName returns the name of a reserved key, or "" for other IDs.
func ReservedProvisionerKeyName(id uuid.UUID) string {
	for _, name := range []string{ProvisionerKeyBuiltIn, ProvisionerKeyUserAuth, ProvisionerKeyPSK} {
		if ReservedProvisionerKey(name) == id {
			return name
		}
	}
	return ""
}

// ResourceTypeProvisionerKey is the audit resource type of provisioner keys.
const ResourceTypeProvisionerKey ResourceType = "provisioner_key"

// The newest provisioner protocol version that the server supports, and the oldest
// minor version of the same major version.
const (
	ProvisionerAPIMajor = 1
	ProvisionerAPIMinor = 14
)

// ProvisionerAPIVersion is the newest supported version as text.
const ProvisionerAPIVersion = "1.14"

// CheckProvisionerAPIVersion rejects protocol versions that the server does not
// support: another major version, or a newer minor version.
func CheckProvisionerAPIVersion(v string) error {
	major, minor, ok := strings.Cut(v, ".")
	ma, err1 := strconv.ParseUint(major, 10, 16)
	mi, err2 := strconv.ParseUint(minor, 10, 16)
	if !ok || err1 != nil || err2 != nil {
		return Invalid("version", "%.20q is not a version of the provisioner protocol such as %s", v, ProvisionerAPIVersion)
	}
	if ma != ProvisionerAPIMajor || mi > ProvisionerAPIMinor {
		return Invalid(
			"version",
			"the provisioner uses protocol %d.%d, but this server supports %d.0 to %s; use a provisioner of the server's version",
			ma,
			mi,
			ProvisionerAPIMajor,
			ProvisionerAPIVersion,
		)
	}
	return nil
}
