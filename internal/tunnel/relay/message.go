package relay

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
)

// MaxMessage is the maximum size of a relay message in bytes.
const MaxMessage = 32 << 10

// Session identifies a tunnel to the relay. The client draws it at random and announces it
// again on every new link.
type Session [16]byte

// String returns the session in hexadecimal.
func (s Session) String() string { return hex.EncodeToString(s[:]) }

// Instance identifies one run of an agent to the relay: a digest of its certificate, which
// both ends know. The relay notifies a client that expects another instance at once that the
// agent was restarted.
type Instance [16]byte

// InstanceOf returns the instance of an agent's certificate.
func InstanceOf(certificate []byte) Instance {
	sum := sha256.Sum256(certificate)
	return Instance(sum[:16])
}

// Message is a relay message in a pooled buffer. The receiver releases it.
type Message struct {
	Text bool
	Data []byte // of a capacity of MaxMessage
}

var messages = sync.Pool{New: func() any { return &Message{Data: make([]byte, 0, MaxMessage)} }}

// newMessage returns an empty message.
func newMessage() *Message {
	m := messages.Get().(*Message)
	m.Text, m.Data = false, m.Data[:0]
	return m
}

// Release returns the buffer to its pool. The message must not be used afterwards.
func (m *Message) Release() { messages.Put(m) }

// Session returns the session of a binary message, and its packets.
func (m *Message) Session() (s Session, packets []byte, err error) {
	if m.Text || len(m.Data) < len(s) {
		return s, nil, errors.New("not a message with packets")
	}
	return Session(m.Data), m.Data[len(s):], nil
}

// AppendPacket appends a packet with its length to the packets of a message.
func AppendPacket(b, packet []byte) []byte {
	return append(binary.BigEndian.AppendUint16(b, uint16(len(packet))), packet...)
}

// NextPacket returns the first packet of a message and the rest. ok is false at the end and
// for malformed data.
func NextPacket(b []byte) (packet, rest []byte, ok bool) {
	if len(b) < 2 {
		return nil, nil, false
	}
	n := int(binary.BigEndian.Uint16(b))
	if len(b) < 2+n {
		return nil, nil, false
	}
	return b[2 : 2+n], b[2+n:], true
}

// The texts between an end and the relay.
const (
	textAttach   = "attach"   // client: SESSION INSTANCE
	textServe    = "serve"    // agent: INSTANCE
	textAttached = "attached" // to an agent: SESSION has a new link

	// TextDetach informs the relay that the client's session has ended: the client will not
	// dial again after the link closes. Older relays ignore it.
	TextDetach = "detach"

	// TextOnline informs a client that its agent is connected.
	TextOnline = "online"
	// TextOffline informs a client that its agent is not connected.
	TextOffline = "offline"
)

// TextAttach returns a client's first message: the session that it continues, and the instance
// of the agent that it knows.
func TextAttach(s Session, i Instance) string {
	return textAttach + " " + s.String() + " " + hex.EncodeToString(i[:])
}

// TextServe returns an agent's first message.
func TextServe(i Instance) string { return textServe + " " + hex.EncodeToString(i[:]) }

// TextAttached returns the message that informs an agent of a new link of a session.
func TextAttached(s Session) string { return textAttached + " " + s.String() }

// ParseAttached parses the text of TextAttached.
func ParseAttached(text string) (s Session, err error) {
	err = parseText(&Message{Text: true, Data: []byte(text)}, textAttached, s[:])
	return s, err
}

// ParseAttach parses a client's first message.
func ParseAttach(m *Message) (s Session, i Instance, err error) {
	err = parseText(m, textAttach, s[:], i[:])
	return s, i, err
}

// ParseServe parses an agent's first message.
func ParseServe(m *Message) (i Instance, err error) {
	err = parseText(m, textServe, i[:])
	return i, err
}

// parseText parses a text of a verb and hexadecimal words of fixed lengths.
func parseText(m *Message, verb string, words ...[]byte) error {
	f := strings.Fields(string(m.Data))
	if !m.Text || len(f) != 1+len(words) || f[0] != verb {
		return fmt.Errorf("the relay expected %q", verb)
	}
	for i, w := range words {
		b, err := hex.DecodeString(f[i+1])
		if err != nil || len(b) != len(w) {
			return fmt.Errorf("a malformed word after %q", verb)
		}
		copy(w, b)
	}
	return nil
}
