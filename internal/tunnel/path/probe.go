package path

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/quic-go/quic-go"

	"github.com/seed-2a7f8fe7/coder/internal/tunnel/parity"
)

// Probes find out by which paths the two ends of a tunnel reach one another.
// They travel beside QUIC's packets, over UDP or the relay, and are sealed with
// keys of the tunnel's own TLS session: nobody else can make, read or change
// one, and each is taken once. Wire form:
//
//	0x21, id [8]byte, counter uint64, sealed: kind byte, body, zeros
//
// id names the tunnel to its two ends, counter is the nonce; both are
// authenticated. Padding makes a probe as big as the biggest packet, so that an
// answer proves that the path carries those.

// What a packet is that is not QUIC's, by its first byte: those of QUIC have 0x40 set,
// those of STUN begin with 0 or 1.
const (
	probeMark  = 0x21 + iota // a probe
	askMark                  // what comes before a packet that asks for the check of a path (growth.go)
	RecordMark               // a record (record.go)
)

const (
	probeHeader = 1 + 8 + 8
	probeTag    = 16
	probeLabel  = "EXPORTER-coder-tunnel-probe"

	// maxCandidates bounds the addresses of one end.
	maxCandidates = 24
	addrSize      = 16 + 2
)

type probeKind byte

const (
	probePing       probeKind = 1 // answer this
	probePong       probeKind = 2 // the answer
	probeCandidates probeKind = 3 // where I may be reached; the agent answers with its own
	probeRelayOnly  probeKind = 4 // from the client: send through the relay again
	probeParity     probeKind = 5 // of packets that were sent
	probeWire       probeKind = 6 // from the client: dial a wire to this port of mine
	probeHello      probeKind = 7 // the first on a wire, from either end
)

// probe is what a probe says. Which fields count depends on its kind.
type probe struct {
	kind probeKind
	// ping: tx is drawn at random and comes back in the pong. chosen says that
	// the client sends by this path, and asks the agent to do so too; seen is
	// then the address that the agent said the client has on it. In a pong seen
	// is the address that the ping came from.
	tx     uint64
	chosen bool
	seen   netip.AddrPort
	// candidates: more says that the list may grow; none that there are no
	// direct paths to this end.
	addrs  []netip.AddrPort
	forbid bool

	parity *parity.Parity

	// wire: tx is drawn at random and comes back in both hellos.
	port uint16
}

func (m probe) body() []byte {
	b := []byte{byte(m.kind)}
	switch m.kind {
	case probePing, probePong:
		b = binary.BigEndian.AppendUint64(b, m.tx)
		b = append(b, flag(m.chosen))
		b = appendAddr(b, m.seen)
	case probeCandidates:
		n := min(len(m.addrs), maxCandidates)
		b = append(b, flag(m.forbid), byte(n))
		for _, a := range m.addrs[:n] {
			b = appendAddr(b, a)
		}
	case probeParity:
		b = m.parity.Append(b)
	case probeWire:
		b = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint64(b, m.tx), m.port)
	case probeHello:
		b = binary.BigEndian.AppendUint64(b, m.tx)
	}
	return b
}

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}

func appendAddr(b []byte, a netip.AddrPort) []byte {
	ip := a.Addr().As16() // zeros when there is none
	return binary.BigEndian.AppendUint16(append(b, ip[:]...), a.Port())
}

func readAddr(b []byte) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom16([16]byte(b)).Unmap(), binary.BigEndian.Uint16(b[16:]))
}

var errProbe = errors.New("not a probe of this tunnel")

func parseProbe(b []byte) (m probe, err error) {
	if len(b) == 0 {
		return m, errProbe
	}
	m.kind, b = probeKind(b[0]), b[1:]
	switch m.kind {
	case probePing, probePong:
		if len(b) < 8+1+addrSize {
			return m, errProbe
		}
		m.tx, m.chosen, m.seen = binary.BigEndian.Uint64(b), b[8] == 1, readAddr(b[9:])
	case probeCandidates:
		if len(b) < 2 || int(b[1]) > maxCandidates || len(b) < 2+int(b[1])*addrSize {
			return m, errProbe
		}
		m.forbid = b[0] == 1
		for i := range int(b[1]) {
			if a := readAddr(b[2+i*addrSize:]); a.Port() != 0 && a.Addr().IsValid() && !a.Addr().IsUnspecified() && !a.Addr().IsMulticast() {
				m.addrs = append(m.addrs, a)
			}
		}
	case probeRelayOnly:
	case probeParity:
		m.parity, err = parity.Parse(b)
	case probeWire:
		if len(b) < 8+2 {
			return m, errProbe
		}
		m.tx, m.port = binary.BigEndian.Uint64(b), binary.BigEndian.Uint16(b[8:])
	case probeHello:
		if len(b) < 8 {
			return m, errProbe
		}
		m.tx = binary.BigEndian.Uint64(b)
	default:
		return m, errProbe
	}
	return m, err
}

// probeID names a tunnel in probes.
type probeID [8]byte

// isProbe says that a datagram claims to be a probe, and of which tunnel.
func isProbe(b []byte) (id probeID, ok bool) {
	if len(b) < probeHeader+probeTag || b[0] != probeMark {
		return id, false
	}
	return probeID(b[1:]), true
}

// prober keys: one per direction. It is safe for concurrent use.
type probeKeys struct {
	id      probeID
	out, in cipher.AEAD
	sent    atomic.Uint64

	mu   sync.Mutex
	last uint64 // the highest counter that was taken
	seen uint64 // bit i: last-i was taken
}

// exportKeys derives the keys of a connection's probes, after its handshake.
func exportKeys(c *quic.Conn, agent bool) (*probeKeys, error) {
	s := c.ConnectionState().TLS
	secret, err := s.ExportKeyingMaterial(probeLabel, nil, 8+16+16)
	if err != nil {
		return nil, err
	}
	return newKeys(secret, agent)
}

func newKeys(secret []byte, agent bool) (*probeKeys, error) {
	k := &probeKeys{id: probeID(secret)}
	var err error
	k.out, k.in, err = Directions(secret[8:40], NewGCM, agent)
	return k, err
}

// Directions makes of a secret what an end seals with and what it opens with: the first
// half is the key of what goes to the agent, the second that of what goes to the client.
func Directions(secret []byte, newAEAD func(key []byte) (cipher.AEAD, error), agent bool) (out, in cipher.AEAD, err error) {
	half := len(secret) / 2
	toAgent, err1 := newAEAD(secret[:half])
	toClient, err2 := newAEAD(secret[half:])
	if agent {
		return toClient, toAgent, errors.Join(err1, err2)
	}
	return toAgent, toClient, errors.Join(err1, err2)
}

// NewGCM gives AES-GCM with a key of 16, 24 or 32 bytes.
func NewGCM(key []byte) (cipher.AEAD, error) {
	c, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(c)
}

// seal makes the datagram of a probe; size is its least length.
func (k *probeKeys) seal(m probe, size int) []byte {
	n := k.sent.Add(1)
	b := make([]byte, 0, max(size, 512))
	b = append(append(b, probeMark), k.id[:]...)
	b = binary.BigEndian.AppendUint64(b, n)
	body := m.body()
	if pad := size - probeHeader - probeTag - len(body); pad > 0 {
		body = append(body, make([]byte, pad)...)
	}
	return k.out.Seal(b, nonce(n), body, b[:probeHeader])
}

func nonce(n uint64) []byte { return binary.BigEndian.AppendUint64(make([]byte, 4, 12), n) }

// open takes a datagram as a probe: one that the other end sealed, unchanged,
// and that has not been taken before.
func (k *probeKeys) open(b []byte) (m probe, err error) {
	m, err = k.unseal(b)
	if err == nil && !k.fresh(binary.BigEndian.Uint64(b[9:])) {
		err = errProbe
	}
	return m, err
}

// unseal is open without regard to what was taken before: hellos, which travel by TCP,
// may come too late for that.
func (k *probeKeys) unseal(b []byte) (m probe, err error) {
	id, ok := isProbe(b)
	if !ok || id != k.id {
		return m, errProbe
	}
	body, err := k.in.Open(nil, nonce(binary.BigEndian.Uint64(b[9:])), b[probeHeader:], b[:probeHeader])
	if err != nil {
		return m, errProbe
	}
	return parseProbe(body)
}

// fresh notes a counter and says whether it is new, and not too old to know.
func (k *probeKeys) fresh(n uint64) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case n > k.last:
		shift := n - k.last
		k.last = n
		if shift >= 64 {
			k.seen = 0
		} else {
			k.seen <<= shift
		}
		k.seen |= 1
		return true
	case k.last-n >= 64 || k.seen&(1<<(k.last-n)) != 0:
		return false
	}
	k.seen |= 1 << (k.last - n)
	return true
}
