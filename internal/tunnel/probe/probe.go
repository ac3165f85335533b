// Package probe is the wire form of probes. With probes the two ends of a tunnel find the
// paths between them. Probes travel beside QUIC's packets, over UDP or the relay. They are
// sealed with keys of the tunnel's own TLS session: nobody else can create, read or change
// one, and each is accepted once. Wire form:
//
//	0x21, id [8]byte, counter uint64, sealed: kind byte, body, zeros
//
// id identifies the tunnel to its two ends, and counter is the nonce; both are
// authenticated. Padding makes a probe as big as the biggest packet, so that an answer
// proves that the path carries such packets. An end ignores probes of unknown kinds.
package probe

import (
	"crypto/cipher"
	"encoding/binary"
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/quic-go/quic-go"

	"github.com/seed-2a7f8fe7/coder/internal/tunnel/parity"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/seal"
)

// Mark is the first byte of a probe. QUIC packets have 0x40 set in their first byte, and the
// first byte of STUN is 0 or 1.
const Mark = 0x21

const (
	header = 1 + 8 + 8
	tag    = 16
	label  = "EXPORTER-coder-tunnel-probe"

	// MaxCandidates bounds the addresses of one end.
	MaxCandidates = 24
	addrSize      = 16 + 2
)

// Kind is the kind of a probe.
type Kind byte

// Kinds of probes.
const (
	Ping       Kind = 1 // request for a Pong
	Pong       Kind = 2 // answer to a Ping
	Candidates Kind = 3 // addresses of the sender; the agent answers with its own
	RelayOnly  Kind = 4 // from the client: send through the relay again
	Mend       Kind = 5 // a parity of sent packets
	Wire       Kind = 6 // from the client: dial a TCP connection to this port of the sender
	Hello      Kind = 7 // first message on a wire, from either end
	Ended      Kind = 8 // from the agent: it ended the tunnel while the client was away
)

// MaxText is the maximum length of Message.Text in bytes.
const MaxText = 400

// Message is the content of a probe. Its kind determines which fields are used.
type Message struct {
	Kind Kind
	// Ping: Tx is random; the Pong repeats it. Chosen states that the client sends by
	// this path, and asks the agent to do the same. Seen is then the client's address on
	// this path, as reported by the agent. In a Pong Seen is the source address of the
	// Ping.
	Tx     uint64
	Chosen bool
	Seen   netip.AddrPort
	// Candidates: Forbid states that there are no direct paths to this end.
	Addrs  []netip.AddrPort
	Forbid bool

	Parity *parity.Parity

	// Wire: Tx is random; both Hellos repeat it.
	Port uint16

	// Ended: the reason, for users, truncated to MaxText.
	Text string
}

func (m Message) body() []byte {
	b := []byte{byte(m.Kind)}
	switch m.Kind {
	case Ping, Pong:
		b = binary.BigEndian.AppendUint64(b, m.Tx)
		b = append(b, boolByte(m.Chosen))
		b = appendAddr(b, m.Seen)
	case Candidates:
		n := min(len(m.Addrs), MaxCandidates)
		b = append(b, boolByte(m.Forbid), byte(n))
		for _, a := range m.Addrs[:n] {
			b = appendAddr(b, a)
		}
	case Mend:
		b = m.Parity.Append(b)
	case Wire:
		b = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint64(b, m.Tx), m.Port)
	case Hello:
		b = binary.BigEndian.AppendUint64(b, m.Tx)
	case Ended:
		text := m.Text[:min(len(m.Text), MaxText)]
		b = append(binary.BigEndian.AppendUint16(b, uint16(len(text))), text...)
	}
	return b
}

func boolByte(b bool) byte {
	if b {
		return 1
	}
	return 0
}

func appendAddr(b []byte, a netip.AddrPort) []byte {
	ip := a.Addr().As16() // zeros if there is no address
	return binary.BigEndian.AppendUint16(append(b, ip[:]...), a.Port())
}

func readAddr(b []byte) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom16([16]byte(b)).Unmap(), binary.BigEndian.Uint16(b[16:]))
}

var errNotOurs = errors.New("not a probe of this tunnel")

func parse(b []byte) (m Message, err error) {
	if len(b) == 0 {
		return m, errNotOurs
	}
	m.Kind, b = Kind(b[0]), b[1:]
	switch m.Kind {
	case Ping, Pong:
		if len(b) < 8+1+addrSize {
			return m, errNotOurs
		}
		m.Tx, m.Chosen, m.Seen = binary.BigEndian.Uint64(b), b[8] == 1, readAddr(b[9:])
	case Candidates:
		if len(b) < 2 || int(b[1]) > MaxCandidates || len(b) < 2+int(b[1])*addrSize {
			return m, errNotOurs
		}
		m.Forbid = b[0] == 1
		for i := range int(b[1]) {
			if a := readAddr(b[2+i*addrSize:]); a.Port() != 0 && a.Addr().IsValid() && !a.Addr().IsUnspecified() && !a.Addr().IsMulticast() {
				m.Addrs = append(m.Addrs, a)
			}
		}
	case RelayOnly:
	case Mend:
		m.Parity, err = parity.Parse(b)
	case Wire:
		if len(b) < 8+2 {
			return m, errNotOurs
		}
		m.Tx, m.Port = binary.BigEndian.Uint64(b), binary.BigEndian.Uint16(b[8:])
	case Hello:
		if len(b) < 8 {
			return m, errNotOurs
		}
		m.Tx = binary.BigEndian.Uint64(b)
	case Ended:
		if len(b) < 2 || int(binary.BigEndian.Uint16(b)) > min(MaxText, len(b)-2) {
			return m, errNotOurs
		}
		m.Text = string(b[2 : 2+binary.BigEndian.Uint16(b)])
	default:
		return m, errNotOurs
	}
	return m, err
}

// ID identifies a tunnel in probes.
type ID [8]byte

// Is reports whether a datagram looks like a probe, and returns the ID of its tunnel.
func Is(b []byte) (id ID, ok bool) {
	if len(b) < header+tag || b[0] != Mark {
		return id, false
	}
	return ID(b[1:]), true
}

// Keys are the keys of one end's probes, one per direction. They are safe for concurrent use.
type Keys struct {
	ID      ID
	out, in cipher.AEAD
	sent    atomic.Uint64

	mu       sync.Mutex
	highest  uint64 // highest accepted counter
	accepted uint64 // bit i is set if counter highest-i was accepted
}

// KeysOf returns the keys of a connection's probes, after its handshake.
func KeysOf(c *quic.Conn, agent bool) (*Keys, error) {
	s := c.ConnectionState().TLS
	secret, err := s.ExportKeyingMaterial(label, nil, 8+16+16)
	if err != nil {
		return nil, err
	}
	return NewKeys(secret, agent)
}

// NewKeys derives keys from a secret of 40 bytes that both ends share.
func NewKeys(secret []byte, agent bool) (*Keys, error) {
	k := &Keys{ID: ID(secret)}
	var err error
	k.out, k.in, err = seal.Directions(secret[8:40], seal.NewGCM, agent)
	return k, err
}

// Seal returns the datagram of a probe, padded to at least size bytes.
func (k *Keys) Seal(m Message, size int) []byte {
	n := k.sent.Add(1)
	b := make([]byte, 0, max(size, 512))
	b = append(append(b, Mark), k.ID[:]...)
	b = binary.BigEndian.AppendUint64(b, n)
	body := m.body()
	if pad := size - header - tag - len(body); pad > 0 {
		body = append(body, make([]byte, pad)...)
	}
	return k.out.Seal(b, nonce(n), body, b[:header])
}

func nonce(n uint64) []byte { return binary.BigEndian.AppendUint64(make([]byte, 4, 12), n) }

// Open opens a probe. It accepts only a probe that the other end sealed, unchanged, and only
// once.
func (k *Keys) Open(b []byte) (m Message, err error) {
	m, err = k.Unseal(b)
	if err == nil && !k.acceptCounter(binary.BigEndian.Uint64(b[9:])) {
		err = errNotOurs
	}
	return m, err
}

// Unseal is Open without the check for duplicates: hellos travel by TCP and may arrive too
// late for that check.
func (k *Keys) Unseal(b []byte) (m Message, err error) {
	id, ok := Is(b)
	if !ok || id != k.ID {
		return m, errNotOurs
	}
	body, err := k.in.Open(nil, nonce(binary.BigEndian.Uint64(b[9:])), b[header:], b[:header])
	if err != nil {
		return m, errNotOurs
	}
	return parse(body)
}

// acceptCounter notes a counter. It returns false if the counter is a duplicate, or too old to
// tell.
func (k *Keys) acceptCounter(n uint64) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case n > k.highest:
		shift := n - k.highest
		k.highest = n
		if shift >= 64 {
			k.accepted = 0
		} else {
			k.accepted <<= shift
		}
		k.accepted |= 1
		return true
	case k.highest-n >= 64 || k.accepted&(1<<(k.highest-n)) != 0:
		return false
	}
	k.accepted |= 1 << (k.highest - n)
	return true
}
