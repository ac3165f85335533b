package coder

import (
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// ProvisionerDaemon is a process that takes jobs.
type ProvisionerDaemon struct {
	APIVersion     string                  `json:"api_version"`
	BusySlots      int                     `json:"busy_slots"` // it is busy when all are
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
	Slots          int                     `json:"slots"` // jobs it takes at once
	Status         ProvisionerDaemonStatus `json:"status"`
	Tags           map[string]string       `json:"tags"`
	Tools          []string                `json:"tools"` // what it runs, such as terraform/1.11.4
	Version        string                  `json:"version"`
	Warnings       []HealthMessage         `json:"warnings,omitempty"` // about its versions
}

// ProvisionerDaemonJob is the job a provisioner runs or ran last.
type ProvisionerDaemonJob struct {
	ID                  uuid.UUID            `json:"id"`
	Status              ProvisionerJobStatus `json:"status"`
	TemplateDisplayName string               `json:"template_display_name"`
	TemplateIcon        string               `json:"template_icon"`
	TemplateName        string               `json:"template_name"`
}

// ProvisionerDaemonStatus says whether a provisioner is there and at work.
type ProvisionerDaemonStatus string

// Values of ProvisionerDaemonStatus.
const (
	ProvisionerDaemonStatusBusy    ProvisionerDaemonStatus = "busy"
	ProvisionerDaemonStatusIdle    ProvisionerDaemonStatus = "idle"
	ProvisionerDaemonStatusOffline ProvisionerDaemonStatus = "offline"
)

// ProvisionerKey lets provisioners of one organization connect with fixed tags.
// Several may live under one name: the current one, and those that it
// replaced, which are good until they expire.
type ProvisionerKey struct {
	CreatedAt    time.Time          `json:"created_at"`
	ExpiresAt    *time.Time         `json:"expires_at,omitempty"` // nil for one that is good until it is deleted
	ID           uuid.UUID          `json:"id"`
	LastUsedAt   *time.Time         `json:"last_used_at,omitempty"` // to about a minute; nil for never
	Name         string             `json:"name"`
	Organization string             `json:"organization"`
	ReplacedAt   *time.Time         `json:"replaced_at,omitempty"` // when a newer one took its place; nil for the current one
	Tags         ProvisionerKeyTags `json:"tags"`
}

// ProvisionerKeyTags are the tags of a provisioner key.
type ProvisionerKeyTags map[string]string

// ProvisionerKeyDaemons groups provisioners by the key they came with.
type ProvisionerKeyDaemons struct {
	Daemons []ProvisionerDaemon `json:"daemons"`
	Key     ProvisionerKey      `json:"key"`
}

// CreateProvisionerKeyResponse carries a provisioner key, once.
type CreateProvisionerKeyResponse struct {
	Key string `json:"key"`
}

// CreateProvisionerKeyRequest makes a provisioner key. (PRV-09)
type CreateProvisionerKeyRequest struct {
	// ExpiresInSeconds is how long the key is good, at most MaxProvisionerKeySeconds;
	// 0 means until it is deleted.
	ExpiresInSeconds int64             `json:"expires_in_seconds,omitempty"`
	Name             string            `json:"name"`
	Tags             map[string]string `json:"tags,omitempty"`
}

// RotateProvisionerKeyRequest makes a new key under the name of an old one,
// with its tags or others.
type RotateProvisionerKeyRequest struct {
	// ExpiresInSeconds is how long the new key is good; 0 means as long as the
	// old one was made for.
	ExpiresInSeconds int64 `json:"expires_in_seconds,omitempty"`
	// GraceSeconds is how long the old key stays good beside the new one, at
	// most MaxProvisionerKeySeconds and never longer than it was before; 0 ends
	// it at once.
	GraceSeconds int64 `json:"grace_seconds"`
	// Tags of the new key; those of the old one when there are none, unless
	// ReplaceTags. The old key keeps its own.
	Tags map[string]string `json:"tags,omitempty"`
	// ReplaceTags takes Tags even when there are none.
	ReplaceTags bool `json:"replace_tags,omitempty"`
}

// RotateProvisionerKeyResponse carries the new secret, once.
type RotateProvisionerKeyResponse struct {
	ExpiresAt    *time.Time `json:"expires_at,omitempty"` // of the new key; nil for never
	Key          string     `json:"key"`
	OldExpiresAt time.Time  `json:"old_expires_at"`
}

// MaxProvisionerKeySeconds bounds how long a key may be made for, and how long
// a replaced one may stay good: ten years.
const MaxProvisionerKeySeconds = 10 * 365 * 24 * 60 * 60

// Reserved pseudo keys: how a provisioner came that brought no key of its own. (PRV-09)
const (
	ProvisionerKeyBuiltIn  = "built-in"
	ProvisionerKeyUserAuth = "user-auth"
	ProvisionerKeyPSK      = "psk"
)

// ReservedProvisionerKey gives the id of a reserved key; Nil for other names.
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

// ReservedProvisionerKeyName gives the name of a reserved key; empty for other ids.
func ReservedProvisionerKeyName(id uuid.UUID) string {
	for _, name := range []string{ProvisionerKeyBuiltIn, ProvisionerKeyUserAuth, ProvisionerKeyPSK} {
		if ReservedProvisionerKey(name) == id {
			return name
		}
	}
	return ""
}

// ResourceTypeProvisionerKey is the audit log's word for a provisioner key.
const ResourceTypeProvisionerKey ResourceType = "provisioner_key"

// The newest provisioner wire that is spoken, and the oldest of the same kind.
const (
	ProvisionerAPIMajor = 1
	ProvisionerAPIMinor = 14
)

// ProvisionerAPIVersion is that version as text.
const ProvisionerAPIVersion = "1.14"

// CheckProvisionerAPIVersion refuses versions of the wire that are not
// understood: another major number, or a minor number that is newer.
func CheckProvisionerAPIVersion(v string) error {
	major, minor, ok := strings.Cut(v, ".")
	ma, err1 := strconv.ParseUint(major, 10, 16)
	mi, err2 := strconv.ParseUint(minor, 10, 16)
	if !ok || err1 != nil || err2 != nil {
		return Invalid("version", "%.20q is not a version of the provisioner protocol such as %s", v, ProvisionerAPIVersion)
	}
	if ma != ProvisionerAPIMajor || mi > ProvisionerAPIMinor {
		return Invalid("version", "the provisioner speaks protocol %d.%d, this server %d.0 to %s; use a provisioner of the server's version", ma, mi, ProvisionerAPIMajor, ProvisionerAPIVersion)
	}
	return nil
}
