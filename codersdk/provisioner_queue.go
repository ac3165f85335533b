package codersdk

import (
	"time"

	"github.com/google/uuid"
)

// ProvisionerJobExplanation explains the state of a job. For a pending job it lists
// why each provisioner of the organization does not run it.
type ProvisionerJobExplanation struct {
	BehindPeople   bool                 `json:"behind_people"` // builds that users requested go first
	Daemons        []ProvisionerRefusal `json:"daemons"`
	EstimatedStart *time.Time           `json:"estimated_start,omitempty"` // nil if it cannot be estimated
	Held           string               `json:"held,omitempty"`            // why the queue holds the job back
	HeldFix        string               `json:"held_fix,omitempty"`        // a command that releases the job
	JobID          uuid.UUID            `json:"job_id"`
	NearestMiss    *ProvisionerNearMiss `json:"nearest_miss,omitempty"` // set only if no connected provisioner can run the job
	OrganizationID uuid.UUID            `json:"organization_id"`
	QueuePosition  int                  `json:"queue_position"` // among the jobs with the same tags, from 1; 0 unless pending
	QueueSize      int                  `json:"queue_size"`
	Status         ProvisionerJobStatus `json:"status"`
	Summary        string               `json:"summary"` // one sentence for users
	Tags           Tags                 `json:"tags"`
	Type           ProvisionerJobType   `json:"type"`
	Warning        string               `json:"warning,omitempty"`    // what to do if no connected provisioner can run the job
	WeightFix      string               `json:"weight_fix,omitempty"` // a command that lets the built-in provisioners run the job
	Matched        MatchedProvisioners  `json:"matched_provisioners"`
	Engine         string               `json:"engine"` // what a provisioner must support, such as terraform
}

// ProvisionerRefusal is a provisioner and the reason why it does not run a job.
type ProvisionerRefusal struct {
	BusyWith      *uuid.UUID              `json:"busy_with,omitempty"` // its latest job, if visible to the caller
	DaemonID      uuid.UUID               `json:"daemon_id"`
	DifferentTags []ProvisionerTagDiffers `json:"different_tags,omitempty"`
	KeyName       string                  `json:"key_name"`
	Message       string                  `json:"message"`
	MissingTags   Tags                    `json:"missing_tags,omitempty"` // tags of the job that the provisioner lacks
	Name          string                  `json:"name"`                   // empty if not visible to the caller
	Reason        ProvisionerReason       `json:"reason"`
	Since         *time.Time              `json:"since,omitempty"` // start of the busy or offline period
	Status        ProvisionerDaemonStatus `json:"status"`
	Tags          Tags                    `json:"tags"`
	Version       string                  `json:"version"`
}

// ProvisionerTagDiffers is a tag that a job and a provisioner have with different
// values.
type ProvisionerTagDiffers struct {
	Daemon string `json:"daemon"`
	Job    string `json:"job"`
	Name   string `json:"name"`
}

// ProvisionerNearMiss is the provisioner that could run the job after the smallest
// change, and that change.
type ProvisionerNearMiss struct {
	DaemonID      uuid.UUID               `json:"daemon_id"`
	DaemonName    string                  `json:"daemon_name"`
	DifferentTags []ProvisionerTagDiffers `json:"different_tags,omitempty"`
	Fix           string                  `json:"fix"` // a command that starts a provisioner that can run the job
	MissingTags   Tags                    `json:"missing_tags,omitempty"`
	Reason        ProvisionerReason       `json:"reason"`
	TemplateFix   string                  `json:"template_fix,omitempty"` // a change of the template; empty if none helps
}

// ProvisionerReason is the reason why a provisioner does not run a job.
type ProvisionerReason string

// Values of ProvisionerReason, in the order of their checks. A provisioner gets the
// first reason that applies.
const (
	// ProvisionerReasonVersion: this server does not support its protocol version.
	ProvisionerReasonVersion ProvisionerReason = "version"
	// ProvisionerReasonEngine: it does not support the engine of the job.
	ProvisionerReasonEngine ProvisionerReason = "engine_missing"
	// ProvisionerReasonOtherOwner: it serves one user and the job is not that user's,
	// or the job requires a provisioner of its user and this one is none.
	ProvisionerReasonOtherOwner ProvisionerReason = "other_owner"
	// ProvisionerReasonUntaggedOnly: the job has no tags, and only provisioners without
	// tags run such jobs. (PRV-11)
	ProvisionerReasonUntaggedOnly ProvisionerReason = "untagged_only"
	// ProvisionerReasonTagDiffers: it has a tag of the job with another value.
	ProvisionerReasonTagDiffers ProvisionerReason = "tag_differs"
	// ProvisionerReasonTagMissing: it lacks tags of the job.
	ProvisionerReasonTagMissing ProvisionerReason = "tag_missing"
	// ProvisionerReasonOffline: it could run the job but is not connected.
	ProvisionerReasonOffline ProvisionerReason = "offline"
	// ProvisionerReasonBusy: it can run the job but is busy with other jobs.
	ProvisionerReasonBusy ProvisionerReason = "busy"
	// ProvisionerReasonTakesIt: it can run the job now.
	ProvisionerReasonTakesIt ProvisionerReason = "takes_it"
)

// ProvisionerQueue lists the pending and running jobs of an organization by tags.
type ProvisionerQueue struct {
	Count            int                      `json:"count"`             // number of tag sets, of which TagSets is one page
	RecommendedSlots int                      `json:"recommended_slots"` // over all tag sets
	TagSets          []ProvisionerQueueTagSet `json:"tag_sets"`
	Warnings         []HealthMessage          `json:"warnings,omitempty"`
}

// ProvisionerQueueTagSet counts the jobs with the same tags. A provisioner counts
// for every tag set that it matches, so two tag sets may share slots.
type ProvisionerQueueTagSet struct {
	Held              int     `json:"held"`                // pending, held back by the limit of their template
	MeanSeconds       float64 `json:"mean_seconds"`        // mean duration of recent jobs; 0 if there are none
	OldestWaitSeconds float64 `json:"oldest_wait_seconds"` // age of the oldest pending job; 0 if there are none
	Pending           int     `json:"pending"`
	RecommendedSlots  int     `json:"recommended_slots"` // slots with which all pending jobs start within the target
	Running           int     `json:"running"`
	Slots             int     `json:"slots"`      // slots of connected provisioners that match
	SlotsBusy         int     `json:"slots_busy"` // of these, slots that run a job of any tag set
	Tags              Tags    `json:"tags"`
}

// DefaultProvisionerQueueTarget is the default of the longest time that a job
// should wait.
const DefaultProvisionerQueueTarget = time.Minute
