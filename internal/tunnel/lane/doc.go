// Package lane carries streams of a tunnel beside its QUIC connection, where the way
// is a TCP connection. What QUIC does for each packet of 1,280 bytes, which is what
// limits a fast tunnel, is done there by the kernel already.
//
// # Records
//
// A lane sends pieces of streams as records of up to 32 KiB, each sealed with keys of
// the tunnel's own TLS session. QUIC opens and ends the streams and says who may; it
// carries pieces of its own wherever records are of no use (Way), such as what is
// typed beside a copy. Each piece says where in its stream it belongs, so the two may
// bring the same stream by turns, and a piece that comes twice does no harm.
//
// # What is lost
//
// TCP loses nothing, but connections end and relays drop what a client is too slow to
// take. So a sender keeps what was not acknowledged: it sends it again when the way
// has changed or when the other end tells of a gap, and asks when nothing is heard for
// a while; and has QUIC carry it when records are of no use. So streams go on
// over every outage that the tunnel survives.
//
// # How much is under way
//
// The window of a lane grows while what is sent arrives as quickly as ever, and
// shrinks when it waits somewhere (flow.go). That of a stream is what the other end
// may have to keep of it, and grows while it is read as quickly as it comes.
package lane
