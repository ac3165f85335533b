package codersdk

import (
	"time"

	"github.com/google/uuid"
)

// HealthHistory lists the health reports of the last day.
type HealthHistory struct {
	Since    time.Time              `json:"since"` // the start of the history: at most 24 hours ago
	Sections []HealthSectionHistory `json:"sections"`
}

// HealthSectionHistory is the history of one section.
type HealthSectionHistory struct {
	Section HealthSection `json:"section"`
	// Unit is the unit of the values, such as ms.
	Unit string `json:"unit"`
	// SeveritySince is the time since which the newest severity lasts without a
	// change, on any server; the zero time if there is no history.
	SeveritySince time.Time            `json:"severity_since"`
	Checks        []HealthSectionPoint `json:"checks"` // the oldest first
}

// HealthSectionPoint is one check of a section by one server.
type HealthSectionPoint struct {
	Time      time.Time `json:"time"`
	ReplicaID uuid.UUID `json:"replica_id"`
	Hostname  string    `json:"hostname"` // "" for a server that is gone
	HealthSectionCheck
}

// HealthSectionCheck is the result of one check of a section.
type HealthSectionCheck struct {
	Severity HealthSeverity `json:"severity"`
	// Value is the measured value; nil if nothing was measured.
	Value *float64 `json:"value,omitempty"`
	// Finding is the error, or the first warning.
	Finding string `json:"finding,omitempty"`
}

// NotificationsHealthReport describes the delivery of notifications.
type NotificationsHealthReport struct {
	HealthBase
	Healthy       bool    `json:"healthy"`
	Paused        bool    `json:"paused"`
	Waiting       int     `json:"waiting"`        // events and messages in the queue
	OldestSeconds float64 `json:"oldest_seconds"` // age of the oldest message in the queue
	Failed        int     `json:"failed"`         // messages that will not be sent again
}
