package clock_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/clock"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// TestFollows checks that a Clock is as far ahead or behind as the other machine, and
// that the same time passes on it.
func TestFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c clock.Clock
		if got := c.Now(); !got.Equal(time.Now()) {
			t.Errorf("without an observation it is %s", got)
		}
		for _, ahead := range []time.Duration{time.Hour, -time.Hour} {
			sent := time.Now()
			time.Sleep(2 * time.Second) // the time of a round trip
			c.Observe(time.Now().Add(ahead-time.Second), sent)
			if got := time.Until(c.Now()); got != ahead {
				t.Errorf("it is ahead by %s, want %s", got, ahead)
			}
			time.Sleep(10 * time.Minute)
			if got := time.Until(c.Now()); got != ahead {
				t.Errorf("10 minutes later it is ahead by %s, want %s", got, ahead)
			}
		}
	})
}

// TestClient checks that the Date of a response is observed.
func TestClient(t *testing.T) {
	date := time.Now().Add(time.Hour)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", date.UTC().Format(http.TimeFormat))
	}))
	defer srv.Close()
	var c clock.Clock
	client := c.Client(nil)
	resp, err := client.Get(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if got := time.Until(c.Now()); got < time.Hour-testwait.Limit {
		t.Errorf("the clock is ahead by %s, want an hour", got)
	}
	date = time.Now().Add(-time.Hour)
	if resp, err = client.Get(srv.URL); err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if got := time.Since(c.Now()); got < time.Hour-testwait.Limit {
		t.Errorf("the clock is behind by %s, want an hour", got)
	}
}

// TestClientNeverJumpsWithinASecond sends requests in all moments of a second: although Date has whole
// seconds, the clock never goes back and agrees with the server.
func TestClientNeverJumpsWithinASecond(t *testing.T) {
	for _, ahead := range []time.Duration{0, 10*time.Minute + 300*time.Millisecond, -time.Hour - 900*time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			var c clock.Clock
			client := c.Client(&http.Client{Transport: server(ahead)})
			var last time.Time
			for range 1000 {
				resp, err := client.Get("http://server.test")
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				now := c.Now()
				if now.Before(last) {
					t.Fatalf("it is %s after %s", now, last)
				}
				if got := now.Sub(time.Now().Add(ahead)).Abs(); got > time.Second {
					t.Fatalf("the clock is wrong by %s, want at most a second", got)
				}
				last = now
				time.Sleep(37 * time.Millisecond)
			}
		})
	}
}

// server answers requests; its clock is ahead by that much.
type server time.Duration

func (s server) RoundTrip(*http.Request) (*http.Response, error) {
	date := time.Now().Add(time.Duration(s)).UTC().Format(http.TimeFormat)
	return &http.Response{StatusCode: 200, Header: http.Header{"Date": {date}}, Body: http.NoBody}, nil
}
