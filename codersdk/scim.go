package codersdk

import "time"

// SCIMStatus is the state of provisioning by an identity provider.
type SCIMStatus struct {
	Enabled bool `json:"enabled"`
	// URL is the base URL to enter at the identity provider.
	URL string `json:"url"`
	// Users and Groups are the numbers of users and groups that the provider manages.
	Users  int64 `json:"users"`
	Groups int64 `json:"groups"`
	// ChangedAt is the time of the last change by the provider; nil for none.
	ChangedAt *time.Time `json:"changed_at"`
}
