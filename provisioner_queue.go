package coder

import (
	"math"
	"time"

	"github.com/google/uuid"
)

// ProvisionerJobExplanation says why a job is where it is: for one that waits,
// what keeps every provisioner of its organization from taking it.
type ProvisionerJobExplanation struct {
	BehindPeople   bool                 `json:"behind_people"` // builds that people asked for go first
	Daemons        []ProvisionerRefusal `json:"daemons"`
	EstimatedStart *time.Time           `json:"estimated_start,omitempty"` // nil when nothing is known to reckon with
	Held           string               `json:"held,omitempty"`            // why the queue itself holds it back
	HeldFix        string               `json:"held_fix,omitempty"`        // a command that would let it go
	JobID          uuid.UUID            `json:"job_id"`
	NearestMiss    *ProvisionerNearMiss `json:"nearest_miss,omitempty"` // only when no provisioner that is there could take it
	OrganizationID uuid.UUID            `json:"organization_id"`
	QueuePosition  int                  `json:"queue_position"` // among the jobs of its tag set, from 1; 0 unless it waits
	QueueSize      int                  `json:"queue_size"`
	Status         ProvisionerJobStatus `json:"status"`
	Summary        string               `json:"summary"` // one line for people
	Tags           Tags                 `json:"tags"`
	Type           ProvisionerJobType   `json:"type"`
	Warning        string               `json:"warning,omitempty"`    // what to do, when no provisioner that is there could take it
	WeightFix      string               `json:"weight_fix,omitempty"` // a command that lets the server's own provisioners take it
	Matched        MatchedProvisioners  `json:"matched_provisioners"`
	Engine         string               `json:"engine"` // what a provisioner must run for it, such as terraform
}

// ProvisionerRefusal is one provisioner and what it has to do with a job.
type ProvisionerRefusal struct {
	BusyWith      *uuid.UUID              `json:"busy_with,omitempty"` // its latest job, if the asker may see that
	DaemonID      uuid.UUID               `json:"daemon_id"`
	DifferentTags []ProvisionerTagDiffers `json:"different_tags,omitempty"`
	KeyName       string                  `json:"key_name"`
	Message       string                  `json:"message"`
	MissingTags   Tags                    `json:"missing_tags,omitempty"` // tags of the job that it does not have
	Name          string                  `json:"name"`                   // "" for one that the asker may not see
	Reason        ProvisionerReason       `json:"reason"`
	Since         *time.Time              `json:"since,omitempty"` // busy or offline since
	Status        ProvisionerDaemonStatus `json:"status"`
	Tags          Tags                    `json:"tags"`
	Version       string                  `json:"version"`
}

// ProvisionerTagDiffers is a tag that job and provisioner both have, with
// different values.
type ProvisionerTagDiffers struct {
	Daemon string `json:"daemon"`
	Job    string `json:"job"`
	Name   string `json:"name"`
}

// ProvisionerNearMiss is the provisioner that would take the job after the
// smallest change, and that change.
type ProvisionerNearMiss struct {
	DaemonID      uuid.UUID               `json:"daemon_id"`
	DaemonName    string                  `json:"daemon_name"`
	DifferentTags []ProvisionerTagDiffers `json:"different_tags,omitempty"`
	Fix           string                  `json:"fix"` // a command that makes a provisioner that takes it
	MissingTags   Tags                    `json:"missing_tags,omitempty"`
	Reason        ProvisionerReason       `json:"reason"`
	TemplateFix   string                  `json:"template_fix,omitempty"` // what the template would have to say; "" when no change of it helps
}

// ProvisionerReason is why a provisioner does not take a job, or that it does.
type ProvisionerReason string

// Values of ProvisionerReason, in the order in which they are looked for: a
// provisioner is given the first that holds.
const (
	// ProvisionerReasonVersion: it speaks a protocol that this server does not.
	ProvisionerReasonVersion ProvisionerReason = "version"
	// ProvisionerReasonEngine: it does not run what the job needs.
	ProvisionerReasonEngine ProvisionerReason = "engine_missing"
	// ProvisionerReasonOtherOwner: it is a user's own and the job is not that
	// user's, or the job is for a user's own provisioners and it is none.
	ProvisionerReasonOtherOwner ProvisionerReason = "other_owner"
	// ProvisionerReasonUntaggedOnly: the job has no tags, so only provisioners
	// without tags take it. (PRV-11)
	ProvisionerReasonUntaggedOnly ProvisionerReason = "untagged_only"
	// ProvisionerReasonTagDiffers: it has a tag of the job with another value.
	ProvisionerReasonTagDiffers ProvisionerReason = "tag_differs"
	// ProvisionerReasonTagMissing: it lacks tags of the job.
	ProvisionerReasonTagMissing ProvisionerReason = "tag_missing"
	// ProvisionerReasonOffline: it would take the job but is not connected.
	ProvisionerReasonOffline ProvisionerReason = "offline"
	// ProvisionerReasonBusy: it takes such jobs, and is at work on others.
	ProvisionerReasonBusy ProvisionerReason = "busy"
	// ProvisionerReasonTakesIt: nothing keeps it from the job.
	ProvisionerReasonTakesIt ProvisionerReason = "takes_it"
)

// ProvisionerQueue is what waits and runs in an organization, by tag set.
type ProvisionerQueue struct {
	Count            int                      `json:"count"`             // of tag sets, of which TagSets is one page
	RecommendedSlots int                      `json:"recommended_slots"` // of all tag sets together
	TagSets          []ProvisionerQueueTagSet `json:"tag_sets"`
	Warnings         []HealthMessage          `json:"warnings,omitempty"`
}

// ProvisionerQueueTagSet is the part of a queue that asks for the same tags. A
// provisioner counts for every tag set that it matches, so the slots of two
// sets may be the same.
type ProvisionerQueueTagSet struct {
	Held              int     `json:"held"`                // wait for their template's cap, not for a slot
	MeanSeconds       float64 `json:"mean_seconds"`        // of jobs that ended lately; 0 when there are none
	OldestWaitSeconds float64 `json:"oldest_wait_seconds"` // of a pending job; 0 when there are none
	Pending           int     `json:"pending"`
	RecommendedSlots  int     `json:"recommended_slots"` // see RecommendedSlots
	Running           int     `json:"running"`
	Slots             int     `json:"slots"`      // of provisioners that are there and match
	SlotsBusy         int     `json:"slots_busy"` // of these, with jobs of whatever tag set
	Tags              Tags    `json:"tags"`
}

// DefaultProvisionerQueueTarget is how long a job should wait at most, when
// whoever asks for a queue says nothing else.
const DefaultProvisionerQueueTarget = time.Minute

// RecommendedSlots is how many slots a tag set should have so that what is
// pending has begun within the target:
//
//	running + min(pending, ceil(pending * mean / target))
//
// A slot that begins a new job every mean seconds begins target/mean of them
// within the target. It is never more than there are jobs, and at least one
// when there is any; a mean of 0, nothing being known, counts as the target,
// which gives every job a slot of its own. Held jobs do not count: more slots
// do not let them go. A target of 0 means DefaultProvisionerQueueTarget.
func RecommendedSlots(pending, running int, mean, target time.Duration) int {
	if target <= 0 {
		target = DefaultProvisionerQueueTarget
	}
	if mean <= 0 || mean >= target {
		return running + pending
	}
	need := math.Ceil(float64(pending)*mean.Seconds()/target.Seconds() - 1e-9)
	return running + min(pending, int(need))
}
