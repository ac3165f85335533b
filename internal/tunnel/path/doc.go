// Package path carries the packets of tunnels by whatever way there is now: the
// relay, or UDP straight to the other end. To QUIC it is a socket, on which each
// session has an address; that packets change their way it does not see.
//
// # The relay
//
// A lost link is dialed again, with a back-off, and the same session is
// announced; the QUIC connection knows nothing of it but lost packets. QUIC
// alone would notice the return only at its next probe, up to a minute
// later: so each end keeps copies of the last packets it sent and sends them
// again when a path returns. The peer's acknowledgements show QUIC what was
// lost, and it goes on at once.
//
// # Direct paths
//
// After the handshake the two ends tell one another through the relay where they
// may be reached: their own addresses, and those that STUN servers see. The client
// pings each; the first that answers is taken, a much quicker one later takes its
// place, and one that stops answering is left for the relay within a second
// (prober.go). The agent only answers and follows. What they say are probes
// (package probe), sealed with keys of the tunnel's own TLS session: packets for QUIC
// are taken only from addresses from which such a probe came.
//
// # Wires
//
// TCP moves bulk for less than QUIC does, and where the way of packets is UDP there may
// be a TCP connection as well: a wire (wire.go), which carries records, pieces of streams
// that are sealed already. The agent listens nowhere, so the client does; it offers its
// port by the direct path, and the agent dials the address that the path has. Both say
// hello with a sealed probe, so nobody else has a wire. One ends with the direct path
// beside it, whose probes tell for both whether the network works; what was under way
// is sent again by who sent it.
//
// # Distance
//
// What QUIC's congestion control does not do for itself over a distance is done from
// below: a window that stopped growing too early starts again (growth.go), and lost
// packets are made of parities (package parity).
package path
