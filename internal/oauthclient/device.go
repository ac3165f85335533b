package oauthclient

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// defaultDeviceLifetime is the lifetime of a device code without one, in seconds.
const defaultDeviceLifetime = 900

// Device starts a sign-in with a device code (RFC 8628) at the provider that name names in messages.
func Device(ctx context.Context, c *http.Client, o *oauth2.Config, name string) (codersdk.ExternalAuthDevice, error) {
	d, err := o.DeviceAuth(WithClient(ctx, c, SourceDevice))
	if err != nil {
		return codersdk.ExternalAuthDevice{}, unavailable(name, err)
	}
	out := codersdk.ExternalAuthDevice{
		DeviceCode: d.DeviceCode, UserCode: d.UserCode, VerificationURI: d.VerificationURI,
		Interval: int(d.Interval), ExpiresIn: defaultDeviceLifetime,
	}
	if out.DeviceCode == "" || out.UserCode == "" || !safeURL(out.VerificationURI) {
		return codersdk.ExternalAuthDevice{}, codersdk.Errorf(codersdk.CodeUnavailable, "%s returned no valid device code; try again later", name)
	}
	if out.Interval <= 0 {
		out.Interval = 5 // RFC 8628 section 3.2
	}
	if !d.Expiry.IsZero() {
		out.ExpiresIn = max(1, int(time.Until(d.Expiry).Seconds()))
	}
	return out, nil
}

// safeURL reports whether a page can link to an address that a provider returned.
func safeURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http")
}

// DeviceToken requests the token of a device code once. While the user has not entered the code, the error
// is CodeInvalid with the provider's error code in Detail: authorization_pending, or slow_down.
func DeviceToken(ctx context.Context, c *http.Client, o *oauth2.Config, name, code string) (*oauth2.Token, error) {
	form := url.Values{"client_id": {o.ClientID}, "device_code": {code}, "grant_type": {"urn:ietf:params:oauth:grant-type:device_code"}}
	if o.ClientSecret != "" {
		form.Set("client_secret", o.ClientSecret)
	}
	r, err := http.NewRequestWithContext(WithSource(ctx, SourceExchange), http.MethodPost, o.Endpoint.TokenURL, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, fmt.Errorf("request a token: %w", err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "application/json")
	resp, err := c.Do(r)
	if err != nil {
		return nil, unavailable(name, err)
	}
	defer resp.Body.Close() //nolint:errcheck // read to what end it has
	var answer map[string]any
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return nil, codersdk.Errorf(codersdk.CodeUnavailable, "%s responded %s without valid JSON; try again later", name, resp.Status).WithCause(err)
	}
	refused, _ := answer["error"].(string)
	if text := pendingText(name, refused); text != "" {
		return nil, codersdk.Errorf(codersdk.CodeInvalid, "%s", text).WithDetail("%s", refused)
	}
	t := &oauth2.Token{}
	t.AccessToken, _ = answer["access_token"].(string)
	t.RefreshToken, _ = answer["refresh_token"].(string)
	t.TokenType, _ = answer["token_type"].(string)
	if refused != "" || t.AccessToken == "" {
		if refused == "" {
			refused = "no token"
		}
		return nil, codersdk.Errorf(codersdk.CodeForbidden, "%s refused the code. Start again.", name).WithDetail("%s", truncate(refused))
	}
	if seconds := lifetime(answer["expires_in"]); seconds > 0 {
		t.Expiry = time.Now().Add(time.Duration(seconds) * time.Second)
	}
	return t.WithExtra(answer), nil
}

// lifetime returns the seconds in the field expires_in, at most those of an int32, or 0 if there are none. Some
// providers send a string.
func lifetime(v any) int64 {
	seconds, err := strconv.ParseFloat(fmt.Sprint(v), 64)
	if err != nil || !(seconds > 0) {
		return 0
	}
	return int64(min(seconds, math.MaxInt32))
}

// pendingText returns the message for an error code of a device sign-in that is pending or has failed,
// "" for other codes. Pages continue to poll after the first two.
func pendingText(name, code string) string {
	switch code {
	case "authorization_pending":
		return "The code has not been entered at " + name + " yet"
	case "slow_down":
		return name + " received too many requests; poll less often"
	case "expired_token":
		return "The code has expired. Start the sign-in again."
	case "access_denied":
		return "The sign-in was denied at " + name
	}
	return ""
}

func unavailable(name string, err error) error {
	return codersdk.Errorf(codersdk.CodeUnavailable, "%s cannot be reached; try again later", name).WithDetail("%s", Describe(err)).WithCause(err)
}
