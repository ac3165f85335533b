// Package lane carries streams of a tunnel outside its QUIC connection when the path is
// a TCP connection. QUIC's work for each packet of 1,280 bytes limits a fast tunnel. On
// a TCP connection the kernel does that work.
//
// # Records
//
// A lane sends parts of streams as records of up to 32 KiB, each sealed with keys of the
// tunnel's own TLS session. QUIC opens and ends the streams and authorizes them. QUIC
// also carries chunks of its own whenever records are not useful (RecordSender), such as typed
// input beside a copy. Each part states its offset in the stream, so records and QUIC can
// carry the same stream in turn, and a duplicate does no harm.
//
// # Loss
//
// TCP loses nothing, but connections end, and relays drop records when a client is too
// slow. So a sender keeps each record until it is acknowledged. The sender retransmits
// records when the path has changed or the other end reports a gap. It asks for an
// acknowledgement when none arrives in time. When records are not useful, QUIC carries
// the unacknowledged data. So streams survive every outage that the tunnel survives.
//
// # Windows
//
// The congestion window of a lane grows while round trips stay short, and shrinks when
// records queue somewhere on the path (flow.go). The window of a stream bounds how much
// unread data the other end must keep. It grows while the reader keeps up.
package lane
