// Package tunnel connects a client to the agent in a workspace. A tunnel is one QUIC
// connection between the two, end to end. Its packets travel by any available path: UDP
// directly to the agent, or a relay through the server, which sees only ciphertext.
// Certificates at the two ends decide which streams a user may open.
//
// # Ends
//
// An agent creates an Identity when it starts, registers its certificate with the server,
// and calls Listen. A client creates an Identity and has the server certify it
// (Authority.Issue) for an agent and kinds of streams, for ten minutes. The client pins
// the agent's certificate from the server's response, and calls Dial; DialAgent does all
// of that. TLS 1.3 verifies both certificates, and the agent checks each stream against
// the actions in the client's. An open tunnel outlives its certificate.
//
// # Streams
//
// Conn.Open opens a stream with one line that requests its kind:
//
//	ssh
//	tcp localhost:8080
//
// The line has at most 1,024 bytes including the line feed. The agent answers with one
// line, "ok" or "error" and a text for users. After that the stream carries application
// data.
//
// QUIC opens and ends streams. Their content travels in QUIC packets or, when the path is
// a TCP connection, in records outside QUIC (package lane), which use less CPU time.
//
// # Packages
//
// Package path carries the packets and the records, through the relay or directly, and
// keeps the QUIC connection alive across outages. Package sleep limits the memory of
// tunnels whose clients are away; no timeout ends them, unless the agent configures one.
// Package probe has the wire form of probes. Package relay has the protocol between the
// ends and the relay. Package udp has the sockets of direct paths, package parity restores
// packets lost on them, and package stun finds the public addresses of an end.
package tunnel
