// Package tunnel is how a client reaches the agent in a workspace: one QUIC
// connection between the two, end to end, over packets that travel by
// whatever path there is: UDP straight to the agent, or a relay through the
// server, which sees only ciphertext. Certificates at the two ends decide which user
// may open which streams.
//
// # Ends
//
// An agent makes an Identity when it starts, registers its certificate with
// the server, and calls Listen. A client makes an Identity, has the server
// certify it (Authority.Issue says for whom, which agent and which kinds of
// streams, for ten minutes), pins the agent's certificate that the server
// answered with, and calls Dial; DialAgent does all of that. TLS 1.3 checks
// both, and the agent checks each stream against the certificate's actions.
// An established tunnel outlives its certificate.
//
// # Streams
//
// Conn.Open opens a stream with one line that says what it wants:
//
//	ssh
//	tcp localhost:8080
//
// at most 1,024 bytes with the line feed. The agent answers with one line, "ok"
// or "error" and a text for users, and then the stream is the application's.
//
// QUIC opens streams and ends them; what is in them travels by its packets or, where
// the way is a TCP connection, beside it in records (package lane), which cost a part.
//
// # Rooms
//
// Package path carries the packets and the records, through the relay or directly,
// and has the QUIC connection survive outages. Package sleep limits the memory of tunnels
// whose clients are away; no time ends them, unless the agent is configured with one.
// Package probe is the form of probes. Package relay is what is said to the relay. Package udp has the sockets of
// direct paths, package parity makes packets that they lost, and package stun asks for
// the addresses under which others see an end.
package tunnel
