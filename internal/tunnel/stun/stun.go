// Package stun is the part of STUN (RFC 8489) that finding direct paths needs. A client
// sends a binding request over UDP, and the server answers with the source address of the
// request. A server answers every request. A client sends requests from the socket on
// which it wants to be reached. The answer is not trusted: an address from STUN is only a
// destination of authenticated probes.
package stun

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
)

const (
	headerSize = 20
	cookie     = 0x2112A442

	bindingRequest  = 0x0001
	bindingResponse = 0x0101

	attrMapped    = 0x0001
	attrXORMapped = 0x0020
	familyIPv4    = 0x01
	familyIPv6    = 0x02
)

// ID matches a response with its request.
type ID [12]byte

// NewID returns a random ID.
func NewID() (id ID) {
	_, _ = rand.Read(id[:]) // never fails
	return id
}

// Is reports whether a datagram looks like STUN. No packet of a tunnel does.
func Is(b []byte) bool {
	return len(b) >= headerSize && b[0] < 4 && binary.BigEndian.Uint32(b[4:]) == cookie
}

// Request returns a binding request.
func Request(id ID) []byte { return header(bindingRequest, 0, id) }

func header(kind, length uint16, id ID) []byte {
	b := binary.BigEndian.AppendUint16(make([]byte, 0, headerSize+24), kind)
	b = binary.BigEndian.AppendUint16(b, length)
	b = binary.BigEndian.AppendUint32(b, cookie)
	return append(b, id[:]...)
}

// Response returns the response to a request from an address.
func Response(id ID, from netip.AddrPort) []byte {
	ip := from.Addr().Unmap().AsSlice()
	family := byte(familyIPv4)
	if len(ip) == 16 {
		family = familyIPv6
	}
	b := header(bindingResponse, uint16(8+len(ip)), id)
	b = binary.BigEndian.AppendUint16(b, attrXORMapped)
	b = binary.BigEndian.AppendUint16(b, uint16(4+len(ip)))
	b = append(b, 0, family)
	b = binary.BigEndian.AppendUint16(b, from.Port()^(cookie>>16))
	return append(b, maskAddress(ip, id)...)
}

// maskAddress returns an address exclusive-ored with the cookie and the ID.
func maskAddress(ip []byte, id ID) []byte {
	mask := append(binary.BigEndian.AppendUint32(nil, cookie), id[:]...)
	out := make([]byte, len(ip))
	for i := range ip {
		out[i] = ip[i] ^ mask[i]
	}
	return out
}

// ParseRequest returns the ID of a binding request.
func ParseRequest(b []byte) (id ID, err error) {
	if !Is(b) || binary.BigEndian.Uint16(b) != bindingRequest {
		return id, errors.New("not a STUN binding request")
	}
	return ID(b[8:headerSize]), nil
}

// ParseResponse returns the ID of a binding response, and the address in it.
func ParseResponse(b []byte) (id ID, mapped netip.AddrPort, err error) {
	if !Is(b) || binary.BigEndian.Uint16(b) != bindingResponse {
		return id, mapped, errors.New("not a STUN binding response")
	}
	id = ID(b[8:headerSize])
	rest := b[headerSize:]
	if n := int(binary.BigEndian.Uint16(b[2:])); n <= len(rest) {
		rest = rest[:n]
	}
	for len(rest) >= 4 {
		kind, n := binary.BigEndian.Uint16(rest), int(binary.BigEndian.Uint16(rest[2:]))
		if len(rest) < 4+n {
			break
		}
		if a, ok := parseAddress(kind, rest[4:4+n], id); ok {
			mapped = a
			if kind == attrXORMapped {
				return id, mapped, nil
			}
		}
		rest = rest[min(len(rest), 4+(n+3)&^3):]
	}
	if !mapped.IsValid() {
		return id, mapped, errors.New("a STUN response without an address")
	}
	return id, mapped, nil
}

func parseAddress(kind uint16, v []byte, id ID) (a netip.AddrPort, ok bool) {
	if kind != attrMapped && kind != attrXORMapped || len(v) < 4 {
		return a, false
	}
	size := map[byte]int{familyIPv4: 4, familyIPv6: 16}[v[1]]
	if size == 0 || len(v) < 4+size {
		return a, false
	}
	port, ip := binary.BigEndian.Uint16(v[2:]), v[4:4+size]
	if kind == attrXORMapped {
		port, ip = port^(cookie>>16), maskAddress(ip, id)
	}
	addr, _ := netip.AddrFromSlice(ip)
	return netip.AddrPortFrom(addr.Unmap(), port), true
}

// Server answers binding requests on a socket. A response is only a few bytes longer than its
// request, so that the server is useless for amplification attacks. Server is a
// lifecycle.Service.
type Server struct {
	Conn *net.UDPConn
	done chan struct{}
}

// Start starts to answer requests.
func (s *Server) Start(context.Context) error {
	s.done = make(chan struct{})
	go func() {
		defer close(s.done)
		b := make([]byte, 1500)
		for {
			n, from, err := s.Conn.ReadFromUDPAddrPort(b)
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if id, perr := ParseRequest(b[:n]); err == nil && perr == nil {
				_, _ = s.Conn.WriteToUDPAddrPort(Response(id, from), from) // a client repeats its request if the response is lost
			}
		}
	}()
	return nil
}

// Stop closes the socket.
func (s *Server) Stop(context.Context) error {
	err := s.Conn.Close()
	<-s.done
	return err
}
