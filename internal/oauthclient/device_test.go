package oauthclient_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/oauthclient"
)

// TestAnswersToDeviceCodes: each answer of a provider to a device code, with the lifetime of the token, or the
// error and whether the page continues to poll.
func TestAnswersToDeviceCodes(t *testing.T) {
	const never = 0
	for body, c := range map[string]struct {
		lifetime time.Duration
		code     codersdk.Code
		detail   string
	}{
		`{"access_token": "t"}`:                           {lifetime: never},
		`{"access_token": "t", "expires_in": 3600}`:       {lifetime: time.Hour},
		`{"access_token": "t", "expires_in": "3599"}`:     {lifetime: 3599 * time.Second}, // Entra ID
		`{"access_token": "t", "expires_in": 1e300}`:      {lifetime: (1<<31 - 1) * time.Second},
		`{"access_token": "t", "expires_in": -5}`:         {lifetime: never},
		`{"access_token": "t", "expires_in": "NaN"}`:      {lifetime: never},
		`{"access_token": "t", "expires_in": null}`:       {lifetime: never},
		`{"error": "authorization_pending"}`:              {code: codersdk.CodeInvalid, detail: "authorization_pending"},
		`{"error": "slow_down", "interval": 10}`:          {code: codersdk.CodeInvalid, detail: "slow_down"},
		`{"error": "expired_token"}`:                      {code: codersdk.CodeInvalid, detail: "expired_token"},
		`{"error": "access_denied"}`:                      {code: codersdk.CodeInvalid, detail: "access_denied"},
		`{"error": "incorrect_device_code"}`:              {code: codersdk.CodeForbidden, detail: "incorrect_device_code"},
		`{"token_type": "bearer"}`:                        {code: codersdk.CodeForbidden, detail: "no token"},
		`<html>Maintenance</html>`:                        {code: codersdk.CodeUnavailable},
		`["a list"]`:                                      {code: codersdk.CodeUnavailable},
		`{"access_token": "t", "error": "access_denied"}`: {code: codersdk.CodeInvalid, detail: "access_denied"},
	} {
		t.Run(body, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.FormValue("device_code") != "the-code" || r.FormValue("client_id") != "id" || r.FormValue("client_secret") != "secret" {
					t.Errorf("the form is %v", r.Form)
				}
				_, _ = io.WriteString(w, body)
			}))
			defer s.Close()
			began := time.Now()
			got, err := oauthclient.DeviceToken(t.Context(), oauthclient.NewMetrics(nil).Client("git", nil), &oauth2.Config{
				ClientID: "id", ClientSecret: "secret", Endpoint: oauth2.Endpoint{TokenURL: s.URL},
			}, "Git host", "the-code")
			if c.code != "" {
				e, ok := errors.AsType[*codersdk.Error](err)
				if !ok || e.Code != c.code || c.detail != "" && e.Detail != c.detail {
					t.Errorf("got %v, want %s (%s)", err, c.code, c.detail)
				}
				return
			}
			if err != nil || got.AccessToken != "t" || got.Expiry.IsZero() != (c.lifetime == never) {
				t.Fatalf("got %+v, %v", got, err)
			}
			if latest := time.Now().Add(c.lifetime); c.lifetime != never && (got.Expiry.Before(began.Add(c.lifetime)) || got.Expiry.After(latest)) {
				t.Errorf("it ends at %s, want %s", got.Expiry, latest)
			}
		})
	}
}
