package workspaceapp

import (
	"crypto/subtle"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
)

// Query parameters with signed values. They are removed before a request reaches an app.
const (
	TicketParam = "coder_application_connect_api_key_35e783" // to the host of an app
	StateParam  = "coder_app_redirect_state"                 // from there, and back beside the code
	// TerminalParam carries a signed token for a web terminal.
	TerminalParam = "coder_signed_app_token_23db1dde"
)

// Lifetimes of signed values.
const (
	// PassDuration is also the longest time for which a user who lost access can still
	// reach an app.
	PassDuration   = time.Minute
	TicketDuration = time.Minute
	// SessionDuration is the maximum lifetime of a Session. It ends earlier with the
	// dashboard session behind it, and is renewed while it is used.
	SessionDuration = 24 * time.Hour
	// SessionRenewal is the age from which a used Session should be renewed.
	SessionRenewal = time.Hour
)

// Pass is a signed app token: its bearer can open one app by one method for one minute without a
// further check.
type Pass struct {
	// UserID is Nil if the user is not signed in. KeyID is the session of the user.
	UserID uuid.UUID `json:"u"`
	KeyID  string    `json:"s,omitempty"`
	Method Method    `json:"m"`
	// Key is the canonical name of the app.
	Key    string `json:"k"`
	Target Target `json:"t"`
}

// NewPass signs a Pass after Allows permitted the access of actor.
func (s *Service) NewPass(actor access.Subject, m Method, n Name, t Target) (string, error) {
	return sign(s, FeaturePass, "pass", PassDuration, Pass{actor.UserID, actor.KeyID, m, n.Key(), t})
}

// Pass verifies a Pass for the name and method; ok is false if it is not valid.
func (s *Service) Pass(text string, m Method, n Name) (Pass, bool) {
	p, ok := s.passes.get(text, s.now())
	if !ok {
		var until time.Time
		if p, until, ok = verify[Pass](s, FeaturePass, "pass", text); ok {
			s.passes.put(text, p, until)
		}
	}
	return p, ok && p.Method == m && p.Key == n.Key()
}

// maxVerified is the maximum size of each generation of verified.
const maxVerified = 1024

// verified caches verified passes, because a browser sends the same one with every request for a minute
// and verification is a large part of a request. When the newer generation is full, the older one is
// dropped.
type verified struct {
	mu         sync.Mutex
	young, old map[string]verifiedPass
}

type verifiedPass struct {
	pass  Pass
	until time.Time
}

func (v *verified) get(text string, now time.Time) (Pass, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	p, ok := v.young[text]
	if !ok {
		p, ok = v.old[text]
	}
	return p.pass, ok && now.Before(p.until)
}

func (v *verified) put(text string, p Pass, until time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.young == nil || len(v.young) >= maxVerified {
		v.young, v.old = map[string]verifiedPass{}, v.young
	}
	v.young[text] = verifiedPass{p, until}
}

// behind identifies the dashboard session behind a signed value for a host. It is not secret: it names a
// key and does not contain it.
type behind struct {
	KeyID string `json:"k"`
	Host  string `json:"h"`
	// State must equal the state with which the browser requested the code.
	State string `json:"s,omitempty"`
	Made  int64  `json:"m,omitempty"`
}

// NewTicket signs the authorization code that a browser takes from the dashboard to the host of an app,
// where it is exchanged for a Session. state is the browser's state.
func (s *Service) NewTicket(actor access.Subject, host, state string) (string, error) {
	if actor.KeyID == "" {
		return "", codersdk.Errorf(codersdk.CodeForbidden, "Only users with a session can open apps")
	}
	return sign(s, FeatureSession, "ticket", TicketDuration, behind{KeyID: actor.KeyID, Host: host, State: state})
}

// Redeem exchanges an authorization code for a Session of the host. ok is false if the code is not valid
// for the host or the state, or has expired.
func (s *Service) Redeem(ticket, host, state string) (session string, ok bool) {
	b, _, ok := verify[behind](s, FeatureSession, "ticket", ticket)
	if !ok || b.Host != host || state == "" || subtle.ConstantTimeCompare([]byte(b.State), []byte(state)) != 1 {
		return "", false
	}
	session, err := s.newSession(b.KeyID, host)
	return session, err == nil
}

func (s *Service) newSession(keyID, host string) (string, error) {
	return sign(s, FeatureSession, "session", SessionDuration, behind{KeyID: keyID, Host: host, Made: s.now().Unix()})
}

// Session returns the ID of the key behind a Session of a host; the caller checks that key with package
// identity. If renewed is not "", it should replace the Session.
func (s *Service) Session(text, host string) (keyID, renewed string, ok bool) {
	b, _, ok := verify[behind](s, FeatureSession, "session", text)
	if !ok || b.Host != host {
		return "", "", false
	}
	if s.now().Sub(time.Unix(b.Made, 0)) > SessionRenewal {
		renewed, _ = s.newSession(b.KeyID, host) // without a new one the old one stays
	}
	return b.KeyID, renewed, true
}

// terminal is a session whose user can open terminals of an agent.
type terminal struct {
	KeyID   string    `json:"k"`
	AgentID uuid.UUID `json:"a"`
}

// NewTerminalToken signs a token with which the user of a session can open a terminal of an agent within
// one minute. The caller has checked the user's access.
func (s *Service) NewTerminalToken(actor access.Subject, agent uuid.UUID) (string, error) {
	if actor.KeyID == "" {
		return "", codersdk.Errorf(codersdk.CodeForbidden, "Only users with a session can open terminals")
	}
	return sign(s, FeaturePass, "terminal", PassDuration, terminal{actor.KeyID, agent})
}

// Terminal returns the ID of the key behind a terminal token of an agent; the caller checks that key with
// package identity.
func (s *Service) Terminal(text string, agent uuid.UUID) (keyID string, ok bool) {
	t, _, ok := verify[terminal](s, FeaturePass, "terminal", text)
	return t.KeyID, ok && t.AgentID == agent && t.KeyID != ""
}
