package tunnel

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
)

// MaxMessage is the most bytes of a relay message.
const MaxMessage = 32 << 10

// Session names a tunnel to the relay. The client draws it at random and
// announces it again on every new link.
type Session [16]byte

// String gives the session in hexadecimal.
func (s Session) String() string { return hex.EncodeToString(s[:]) }

// addr makes the address by which QUIC knows the session: 16 bytes are an
// IPv6 address, which quic-go compares without allocating.
func (s Session) addr() *net.UDPAddr { return &net.UDPAddr{IP: s[:], Port: 1} }

// sessionOf is the opposite of addr.
func sessionOf(a net.Addr) (s Session, ok bool) {
	u, ok := a.(*net.UDPAddr)
	if !ok || len(u.IP) != len(s) {
		return s, false
	}
	return Session(u.IP), true
}

// Message is a relay message in a pooled buffer. Whoever gets one releases it.
type Message struct {
	Text bool
	Data []byte // of a capacity of MaxMessage
}

var messages = sync.Pool{New: func() any { return &Message{Data: make([]byte, 0, MaxMessage)} }}

// newMessage gives an empty message.
func newMessage() *Message {
	m := messages.Get().(*Message)
	m.Text, m.Data = false, m.Data[:0]
	return m
}

// datagrams are the bigger buffers of UDP sockets.
var datagrams = sync.Pool{New: func() any { return &Message{Data: make([]byte, 0, maxDatagram)} }}

func newDatagram() *Message {
	m := datagrams.Get().(*Message)
	m.Data = m.Data[:0]
	return m
}

// Release gives the buffer back. The message must not be used after.
func (m *Message) Release() {
	if cap(m.Data) >= maxDatagram {
		datagrams.Put(m)
		return
	}
	messages.Put(m)
}

// Session gives the session of a binary message, and its packets.
func (m *Message) Session() (s Session, packets []byte, err error) {
	if m.Text || len(m.Data) < len(s) {
		return s, nil, errors.New("not a message with packets")
	}
	return Session(m.Data), m.Data[len(s):], nil
}

// appendPacket adds a packet with its length.
func appendPacket(b, packet []byte) []byte {
	return append(binary.BigEndian.AppendUint16(b, uint16(len(packet))), packet...)
}

// nextPacket takes the first packet off; ok is false at the end and at rubbish.
func nextPacket(b []byte) (packet, rest []byte, ok bool) {
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

	// TextOnline tells a client that its agent is there.
	TextOnline = "online"
	// TextOffline tells a client that its agent is not there.
	TextOffline = "offline"
)

// TextAttached tells an agent that a session has a new link.
func TextAttached(s Session) string { return textAttached + " " + s.String() }

// ParseAttach reads a client's first message.
func ParseAttach(m *Message) (s Session, i Instance, err error) {
	err = parseText(m, textAttach, s[:], i[:])
	return s, i, err
}

// ParseServe reads an agent's first message.
func ParseServe(m *Message) (i Instance, err error) {
	err = parseText(m, textServe, i[:])
	return i, err
}

// parseText reads a text of a verb and hexadecimal words of fixed lengths.
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
