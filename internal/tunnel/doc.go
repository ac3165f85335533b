// Package tunnel is how a client reaches the agent in a workspace: one QUIC
// connection between the two, end to end, over packets that travel by
// whatever path there is. Today that is a relay through the server, which
// sees only ciphertext; who may open what is decided by certificates at the
// two ends.
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
// or "error" and a text for people, and then the stream is the application's.
//
// # Relay messages
//
// Each end holds a Link to the relay, usually a WebSocket. Its first message
// is text: "attach SESSION INSTANCE" from a client and "serve INSTANCE" from
// an agent, both in hexadecimal. SESSION is 16 random bytes that name the
// tunnel to the relay; INSTANCE names the agent's life (see Instance). Then
// binary messages carry packets:
//
//	session [16]byte, then one or more of: length uint16 (big endian), packet
//
// A message holds packets of one session and at most MaxMessage bytes; the
// relay forwards it unread. To a client the relay says "online" or "offline"
// in text when the agent comes or goes, and closes the link with
// StatusRestarted when the agent is another instance than the client wants.
//
// # Outages
//
// A lost link is dialed again, with a back-off, and the same session is
// announced; the QUIC connection knows nothing of it but lost packets. QUIC
// alone would notice the return only at its next probe, up to a minute
// later: so each end keeps copies of the last packets it sent and sends them
// again when a path returns. The peer's acknowledgements show QUIC what was
// lost, and it goes on at once. A tunnel without any packet for IdleTimeout
// ends.
package tunnel
