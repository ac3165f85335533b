package coder

import (
	"time"

	"github.com/google/uuid"
)

// ProvisionerDaemon is a process that takes jobs.
type ProvisionerDaemon struct {
	APIVersion     string                  `json:"api_version"`
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
	Status         ProvisionerDaemonStatus `json:"status"`
	Tags           map[string]string       `json:"tags"`
	Version        string                  `json:"version"`
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
type ProvisionerKey struct {
	CreatedAt    time.Time          `json:"created_at"`
	ID           uuid.UUID          `json:"id"`
	Name         string             `json:"name"`
	Organization string             `json:"organization"`
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
	Name string            `json:"name"`
	Tags map[string]string `json:"tags,omitempty"`
}
