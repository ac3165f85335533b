package codersdk

import (
	"time"

	"github.com/google/uuid"
)

// DAUsResponse holds the daily active users.
type DAUsResponse struct {
	Entries      []DAUEntry `json:"entries"`
	TZHourOffset int        `json:"tz_hour_offset"` // offset of local time from UTC, in hours; positive is east
}

// DAUEntry is the number of active users of one day.
type DAUEntry struct {
	Amount int64  `json:"amount"`
	Date   string `json:"date"` // 2006-01-02
}

// InsightsReportInterval is the length of the intervals of a report.
type InsightsReportInterval string

// Values of InsightsReportInterval.
const (
	InsightsReportIntervalDay  InsightsReportInterval = "day"
	InsightsReportIntervalWeek InsightsReportInterval = "week"
)

// TemplateInsightsResponse is the usage of templates.
type TemplateInsightsResponse struct {
	IntervalReports []TemplateInsightsIntervalReport `json:"interval_reports"`
	Report          TemplateInsightsReport           `json:"report"`
}

// TemplateInsightsIntervalReport is the usage in one day or week.
type TemplateInsightsIntervalReport struct {
	ActiveUsers int64                  `json:"active_users"`
	EndTime     time.Time              `json:"end_time"`
	Interval    InsightsReportInterval `json:"interval"`
	StartTime   time.Time              `json:"start_time"`
	TemplateIDs []uuid.UUID            `json:"template_ids"`
}

// TemplateInsightsReport is the usage in the whole period.
type TemplateInsightsReport struct {
	ActiveUsers     int64                    `json:"active_users"`
	AppsUsage       []TemplateAppUsage       `json:"apps_usage"`
	EndTime         time.Time                `json:"end_time"`
	ParametersUsage []TemplateParameterUsage `json:"parameters_usage"`
	StartTime       time.Time                `json:"start_time"`
	TemplateIDs     []uuid.UUID              `json:"template_ids"`
}

// TemplateAppsType distinguishes apps that are built in from apps that templates
// define.
type TemplateAppsType string

// Values of TemplateAppsType.
const (
	TemplateAppsTypeBuiltin TemplateAppsType = "builtin"
	TemplateAppsTypeApp     TemplateAppsType = "app"
)

// TemplateAppUsage is the time for which an app was in use, in seconds.
type TemplateAppUsage struct {
	DisplayName string           `json:"display_name"`
	Icon        string           `json:"icon"`
	Seconds     int64            `json:"seconds"`
	Slug        string           `json:"slug"`
	TemplateIDs []uuid.UUID      `json:"template_ids"`
	TimesUsed   int64            `json:"times_used"` // for built-in apps: the number of users
	Type        TemplateAppsType `json:"type"`
}

// TemplateParameterUsage lists the values that workspaces have for a parameter.
type TemplateParameterUsage struct {
	Description string                           `json:"description"`
	DisplayName string                           `json:"display_name"`
	Name        string                           `json:"name"`
	Options     []TemplateVersionParameterOption `json:"options"`
	TemplateIDs []uuid.UUID                      `json:"template_ids"`
	Type        string                           `json:"type"`
	Values      []TemplateParameterValue         `json:"values"`
}

// TemplateParameterValue is the number of workspaces with a value.
type TemplateParameterValue struct {
	Count int64  `json:"count"`
	Value string `json:"value"`
}

// UserActivityInsightsResponse is the activity of users.
type UserActivityInsightsResponse struct {
	Report UserActivityInsightsReport `json:"report"`
}

// UserActivityInsightsReport lists users, the most active first.
type UserActivityInsightsReport struct {
	EndTime     time.Time      `json:"end_time"`
	StartTime   time.Time      `json:"start_time"`
	TemplateIDs []uuid.UUID    `json:"template_ids"`
	Users       []UserActivity `json:"users"`
}

// UserActivity is the active time of a user, in seconds.
type UserActivity struct {
	AvatarURL   string      `json:"avatar_url"`
	Seconds     int64       `json:"seconds"`
	TemplateIDs []uuid.UUID `json:"template_ids"`
	UserID      uuid.UUID   `json:"user_id"`
	Username    string      `json:"username"`
}

// UserLatencyInsightsResponse is the latency between users and their workspaces.
type UserLatencyInsightsResponse struct {
	Report UserLatencyInsightsReport `json:"report"`
}

// UserLatencyInsightsReport lists users by name.
type UserLatencyInsightsReport struct {
	EndTime     time.Time     `json:"end_time"`
	StartTime   time.Time     `json:"start_time"`
	TemplateIDs []uuid.UUID   `json:"template_ids"`
	Users       []UserLatency `json:"users"`
}

// UserLatency is the round trip time of one user, in milliseconds.
type UserLatency struct {
	AvatarURL   string            `json:"avatar_url"`
	LatencyMS   ConnectionLatency `json:"latency_ms"`
	TemplateIDs []uuid.UUID       `json:"template_ids"`
	UserID      uuid.UUID         `json:"user_id"`
	Username    string            `json:"username"`
}

// GetUserStatusCountsResponse holds the number of users of each status, by day.
type GetUserStatusCountsResponse struct {
	StatusCounts map[UserStatus][]UserStatusChangeCount `json:"status_counts"`
}

// UserStatusChangeCount is the number of users with a status at the end of a day.
type UserStatusChangeCount struct {
	Count int64     `json:"count"`
	Date  time.Time `json:"date"`
}
