package codersdk

// WebpushSubscription is the subscription of a browser at its push service.
type WebpushSubscription struct {
	AuthKey   string `json:"auth_key"`   // base64url
	Endpoint  string `json:"endpoint"`   // URL
	P256dhKey string `json:"p256dh_key"` // base64url
}

// DeleteWebpushSubscription names the subscription of a browser.
type DeleteWebpushSubscription struct {
	Endpoint string `json:"endpoint"`
}
