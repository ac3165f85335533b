package codersdk

import (
	"time"

	"github.com/google/uuid"
)

// ProvisionerJob is a unit of work for a provisioner.
type ProvisionerJob struct {
	AvailableWorkers   []string               `json:"available_workers"`
	CanceledAt         *time.Time             `json:"canceled_at,omitempty"`
	CompletedAt        *time.Time             `json:"completed_at,omitempty"`
	CreatedAt          time.Time              `json:"created_at"`
	Error              string                 `json:"error"`
	ErrorCode          JobErrorCode           `json:"error_code"`
	FileID             uuid.UUID              `json:"file_id,omitzero"`
	ID                 uuid.UUID              `json:"id"`
	InitiatorID        uuid.UUID              `json:"initiator_id"`
	Input              ProvisionerJobInput    `json:"input"`
	LogsOverflowed     bool                   `json:"logs_overflowed"`
	Metadata           ProvisionerJobMetadata `json:"metadata"`
	OrganizationID     uuid.UUID              `json:"organization_id"`
	ProvisionerWarning string                 `json:"provisioner_warning,omitempty"` // for dry runs, see WorkspaceBuild
	QueuePosition      int                    `json:"queue_position"`
	QueueSize          int                    `json:"queue_size"`
	StartedAt          *time.Time             `json:"started_at,omitempty"`
	Status             ProvisionerJobStatus   `json:"status"`
	Tags               map[string]string      `json:"tags"`
	Type               ProvisionerJobType     `json:"type"`
	WorkerID           *uuid.UUID             `json:"worker_id,omitzero"`
	WorkerName         string                 `json:"worker_name"`
}

// ProvisionerJobInput references the object that a job works on.
type ProvisionerJobInput struct {
	Error             string    `json:"error"`
	TemplateVersionID uuid.UUID `json:"template_version_id,omitzero"`
	WorkspaceBuildID  uuid.UUID `json:"workspace_build_id,omitzero"`
}

// ProvisionerJobMetadata names the template and workspace of a job.
type ProvisionerJobMetadata struct {
	TemplateDisplayName string    `json:"template_display_name"`
	TemplateIcon        string    `json:"template_icon"`
	TemplateID          uuid.UUID `json:"template_id,omitzero"`
	TemplateName        string    `json:"template_name"`
	TemplateVersionName string    `json:"template_version_name"`
	WorkspaceID         uuid.UUID `json:"workspace_id,omitzero"`
	WorkspaceName       string    `json:"workspace_name"`
}

// ProvisionerJobStatus is the state of a job; see JobTransitions.
type ProvisionerJobStatus string

// Values of ProvisionerJobStatus.
const (
	ProvisionerJobStatusCanceled  ProvisionerJobStatus = "canceled"
	ProvisionerJobStatusCanceling ProvisionerJobStatus = "canceling"
	ProvisionerJobStatusFailed    ProvisionerJobStatus = "failed"
	ProvisionerJobStatusPending   ProvisionerJobStatus = "pending"
	ProvisionerJobStatusRunning   ProvisionerJobStatus = "running"
	ProvisionerJobStatusSucceeded ProvisionerJobStatus = "succeeded"
	ProvisionerJobStatusUnknown   ProvisionerJobStatus = "unknown"
)

// ProvisionerJobType is the kind of a job.
type ProvisionerJobType string

// Values of ProvisionerJobType.
const (
	ProvisionerJobTypeTemplateVersionDryRun ProvisionerJobType = "template_version_dry_run"
	ProvisionerJobTypeTemplateVersionImport ProvisionerJobType = "template_version_import"
	ProvisionerJobTypeWorkspaceBuild        ProvisionerJobType = "workspace_build"
)

// ProvisionerJobLog is a line of a job's log.
type ProvisionerJobLog struct {
	CreatedAt time.Time `json:"created_at"`
	ID        int64     `json:"id"`
	LogLevel  LogLevel  `json:"log_level"`
	LogSource LogSource `json:"log_source"`
	Output    string    `json:"output"`
	Stage     string    `json:"stage"`
}

// JobErrorCode identifies a failure that clients handle.
type JobErrorCode string

// Values of JobErrorCode.
const (
	JobErrorCodeRequiredTemplateVariables JobErrorCode = "REQUIRED_TEMPLATE_VARIABLES"
)

// LogLevel is the level of a log line.
type LogLevel string

// Values of LogLevel.
const (
	LogLevelDebug LogLevel = "debug"
	LogLevelError LogLevel = "error"
	LogLevelInfo  LogLevel = "info"
	LogLevelTrace LogLevel = "trace"
	LogLevelWarn  LogLevel = "warn"
)

// LogSource is the side that wrote a log line.
type LogSource string

// Values of LogSource.
const (
	LogSourceProvisioner       LogSource = "provisioner"
	LogSourceProvisionerDaemon LogSource = "provisioner_daemon"
)

// ProvisionerLogLevel requests more log output from a provisioner.
type ProvisionerLogLevel string

// Values of ProvisionerLogLevel.
const (
	ProvisionerLogLevelDebug ProvisionerLogLevel = "debug"
)

// MatchedProvisioners counts the provisioners that can run a job.
type MatchedProvisioners struct {
	Available        int        `json:"available"`
	Count            int        `json:"count"`
	MostRecentlySeen *time.Time `json:"most_recently_seen,omitempty"`
}

// JobTransition is one change of a job's status.
type JobTransition struct {
	From, To ProvisionerJobStatus
	Event    string // the event, in words for users
}

// JobTransitions returns the complete state machine of a job, which
// docs/state-machines.md shows. Succeeded, failed and canceled are final.
func JobTransitions() []JobTransition {
	const (
		pending, running, canceling = ProvisionerJobStatusPending, ProvisionerJobStatusRunning, ProvisionerJobStatusCanceling
		succeeded, failed, canceled = ProvisionerJobStatusSucceeded, ProvisionerJobStatusFailed, ProvisionerJobStatusCanceled
	)
	return []JobTransition{
		{pending, running, "a provisioner claims it"},
		{pending, canceled, "a user cancels it"},
		{pending, failed, "no provisioner that could take it was seen for 30 minutes"},
		{running, succeeded, "its provisioner completes it"},
		{running, failed, "its provisioner fails it, or its result is refused"},
		{running, failed, "its lease expires during a build that sent no state or was claimed three times"},
		{running, pending, "its lease expires during an import, a dry run, or before a build started"},
		{running, pending, "its lease expires during a build that sent its state"},
		{running, pending, "its provisioner releases it and returns its state"},
		{running, pending, "its provisioner disconnects before it receives the job"},
		{running, canceling, "a user cancels it"},
		{canceling, canceled, "its provisioner stops and fails it"},
		{canceling, succeeded, "its provisioner completes it anyway"},
		{canceling, failed, "its lease expires, or it does not stop in time"},
	}
}
