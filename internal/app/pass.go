package app

import (
	"crypto/subtle"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
)

// Parameters of queries that bring what is signed here. Apps never see them.
const (
	TicketParam = "coder_application_connect_api_key_35e783" // to the host of an app
	StateParam  = "coder_app_redirect_state"                 // from there, and back beside the ticket
	// TerminalParam brings a terminal's token.
	TerminalParam = "coder_signed_app_token_23db1dde"
)

// How long what is signed lives.
const (
	// PassDuration is also how long it may take until somebody who may no longer
	// open an app is kept out.
	PassDuration   = time.Minute
	TicketDuration = time.Minute
	// SessionDuration bounds a Session; it ends with the session behind it
	// before that, and is replaced while it is used.
	SessionDuration = 24 * time.Hour
	// SessionRenewal is the age from which a used Session should be replaced.
	SessionRenewal = time.Hour
)

// Pass lets its bearer open one app by one method for a minute without
// anybody being asked.
type Pass struct {
	// UserID is Nil for somebody who is not signed in, and KeyID is the session
	// behind it.
	UserID uuid.UUID `json:"u"`
	KeyID  string    `json:"s,omitempty"`
	Method Method    `json:"m"`
	// Key is that of the name it was made for.
	Key    string `json:"k"`
	Target Target `json:"t"`
}

// NewPass signs a pass for what Allows has permitted to actor.
func (s *Service) NewPass(actor access.Subject, m Method, n Name, t Target) (string, error) {
	return sign(s, FeaturePass, "pass", PassDuration, Pass{actor.UserID, actor.KeyID, m, n.Key(), t})
}

// Pass reads a pass for the name and method; ok is false when it is none.
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

// maxVerified bounds each of the two halves of what a verified keeps.
const maxVerified = 1024

// verified are the passes that were read last: a browser sends the same one with
// every request for a minute, and to read it takes as long as much of the rest.
// When half is full, the older half is forgotten.
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

// behind is which session of the dashboard stands behind what is signed for a
// host name. It is no secret: it names a key and is not the key.
type behind struct {
	KeyID string `json:"k"`
	Host  string `json:"h"`
	// State is what the browser must have had when it left for a ticket.
	State string `json:"s,omitempty"`
	Made  int64  `json:"m,omitempty"`
}

// NewTicket signs what a browser brings from the dashboard to the host name of
// an app, to get a Session there. state is what the browser left with.
func (s *Service) NewTicket(actor access.Subject, host, state string) (string, error) {
	if actor.KeyID == "" {
		return "", coder.Errorf(coder.CodeForbidden, "Only people with a session can open apps")
	}
	return sign(s, FeatureSession, "ticket", TicketDuration, behind{KeyID: actor.KeyID, Host: host, State: state})
}

// Redeem trades a ticket for a Session of the host name. ok is false for one
// that is not, or not any more, good for the host or the state.
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

// Session gives the id of the key behind a Session of a host name; whether that
// key is still good is identity's to say. renewed is not "" when the Session
// should be replaced by it.
func (s *Service) Session(text, host string) (keyID, renewed string, ok bool) {
	b, _, ok := verify[behind](s, FeatureSession, "session", text)
	if !ok || b.Host != host {
		return "", "", false
	}
	if s.now().Sub(time.Unix(b.Made, 0)) > SessionRenewal {
		renewed, _ = s.newSession(b.KeyID, host) // without one the old goes on
	}
	return b.KeyID, renewed, true
}

// terminal is a session whose user may open terminals of an agent.
type terminal struct {
	KeyID   string    `json:"k"`
	AgentID uuid.UUID `json:"a"`
}

// NewTerminalToken signs that the user of a session may open a terminal of an
// agent, within a minute, without showing it. The caller has made sure that they
// may.
func (s *Service) NewTerminalToken(actor access.Subject, agent uuid.UUID) (string, error) {
	if actor.KeyID == "" {
		return "", coder.Errorf(coder.CodeForbidden, "Only people with a session can open terminals")
	}
	return sign(s, FeaturePass, "terminal", PassDuration, terminal{actor.KeyID, agent})
}

// Terminal gives the id of the key behind such a token for an agent; whether that
// key is still good is identity's to say.
func (s *Service) Terminal(text string, agent uuid.UUID) (keyID string, ok bool) {
	t, _, ok := verify[terminal](s, FeaturePass, "terminal", text)
	return t.KeyID, ok && t.AgentID == agent && t.KeyID != ""
}
