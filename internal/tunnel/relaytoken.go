package tunnel

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// relayTokenLifetime is the period after its issue in which a token opens a link at a
// workspace proxy.
const relayTokenLifetime = 10 * time.Minute

// RelayTokenHeader carries the token for the relay of a workspace proxy.
const RelayTokenHeader = "Coder-Relay-Token"

// RelayKey is the key with which a workspace proxy verifies the tokens for its relay.
type RelayKey struct {
	ProxyID uuid.UUID `json:"proxy_id"`
	// PublicKey is an ed25519 key, 32 bytes.
	PublicKey []byte `json:"public_key"`
}

// RelayEnd is the end of a tunnel for which a relay token is valid.
type RelayEnd string

// Values of RelayEnd.
const (
	RelayClient RelayEnd = "client"
	RelayAgent  RelayEnd = "agent"
)

// RelayClaim is what a relay token permits: one end of tunnels to one agent, at the
// relay of one workspace proxy.
type RelayClaim struct {
	ProxyID uuid.UUID `json:"proxy"`
	AgentID uuid.UUID `json:"agent"`
	End     RelayEnd  `json:"end"`
}

// signedRelayClaim is the signed part of a token. Times are seconds since 1970.
type signedRelayClaim struct {
	RelayClaim
	NotBefore int64 `json:"nbf"`
	Expires   int64 `json:"exp"`
}

// relayKey returns the key of relay tokens, the same on all replicas.
func (a *Authority) relayKey() ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(a.Secret("coder relay of workspace proxies"))
}

// RelayKey returns the key with which a workspace proxy verifies relay tokens.
func (a *Authority) RelayKey(proxyID uuid.UUID) RelayKey {
	return RelayKey{ProxyID: proxyID, PublicKey: a.relayKey().Public().(ed25519.PublicKey)}
}

// IssueRelay returns a token for a claim: the claim in JSON and its ed25519 signature,
// both in base64. It is valid for ten minutes.
func (a *Authority) IssueRelay(c RelayClaim, now time.Time) string {
	body, err := json.Marshal(signedRelayClaim{c, now.Add(-clockSkew).Unix(), now.Add(relayTokenLifetime).Unix()})
	if err != nil { // only for types that JSON cannot represent
		panic(err)
	}
	b64 := base64.RawURLEncoding
	return b64.EncodeToString(body) + "." + b64.EncodeToString(ed25519.Sign(a.relayKey(), body))
}

// Verify returns the claim of a token for the relay of the key's workspace proxy. The
// error has the code unauthenticated.
func (k RelayKey) Verify(token string, now time.Time) (RelayClaim, error) {
	refused := func(why string) (RelayClaim, error) {
		return RelayClaim{}, codersdk.Errorf(codersdk.CodeUnauthenticated, "The relay token is not valid: %s", why)
	}
	first, second, _ := strings.Cut(token, ".")
	body, err1 := base64.RawURLEncoding.DecodeString(first)
	signature, err2 := base64.RawURLEncoding.DecodeString(second)
	if err1 != nil || err2 != nil || len(k.PublicKey) != ed25519.PublicKeySize || !ed25519.Verify(k.PublicKey, body, signature) {
		return refused("its signature is wrong")
	}
	var c signedRelayClaim
	if err := json.Unmarshal(body, &c); err != nil {
		return refused("its content is malformed")
	}
	switch at := now.Unix(); {
	case c.ProxyID != k.ProxyID:
		return refused("it is for another workspace proxy")
	case at < c.NotBefore:
		return refused("it is not valid yet; check the clock of this machine")
	case at >= c.Expires:
		return refused("it has expired; check the clock of this machine")
	case c.AgentID == uuid.Nil || c.End != RelayClient && c.End != RelayAgent:
		return refused("it names no end of a tunnel")
	}
	return c.RelayClaim, nil
}
