// Package path carries the packets of tunnels over the path that works now: the
// relay, or UDP directly to the other end. To QUIC, a path is a socket on which each
// session has an address. QUIC does not see when packets move to another path.
//
// # The relay
//
// A lost link is dialed again with a backoff, and the same session is announced.
// The QUIC connection only sees lost packets. QUIC alone would notice the return
// at its next probe, up to a minute later. So each end keeps copies of the last
// packets that it sent, and sends them again when a path returns. The peer's
// acknowledgements then show QUIC which packets were lost, and QUIC resumes at once.
//
// # Direct paths
//
// After the handshake the two ends exchange their candidate addresses through the
// relay: their own addresses, and those that STUN servers see. The client pings each
// candidate and uses the first that answers. A much faster candidate replaces it
// later. When the path in use stops answering, the client returns to the relay within
// a second (prober.go). The agent only answers and follows.
//
// These messages are probes (package probe), sealed with keys of the tunnel's own TLS
// session. Packets for QUIC are accepted only from addresses that sent such a probe.
//
// # Wires
//
// TCP moves bulk data at a lower cost than QUIC. So a UDP path can have a TCP
// connection beside it: a wire (wire.go). A wire carries records, which are pieces of
// streams that are sealed already. The agent listens on no port, so the client listens.
// The client offers its port over the direct path, and the agent dials the address of
// that path. Both ends authenticate the wire with a sealed hello probe.
//
// A wire ends with the direct path beside it, whose probes show for both whether the
// network works. The sender of records in flight then sends them again.
//
// # Distance
//
// The package makes up for two weaknesses of QUIC's congestion control on paths with
// a long round trip. A congestion window that stopped growing too early starts again
// (growth.go), and lost packets are restored from parity packets (package parity).
package path
