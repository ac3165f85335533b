// Package relay is what the ends of tunnels and the relay between them say to
// one another: the messages, the links that carry them, and the queue before a
// link. The relay itself is internal/switchboard, the ends are package tunnel.
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
// in text when the agent comes or goes, to an agent "attached SESSION" when a
// session has a new link, and it closes a client's link with StatusRestarted
// when the agent is another instance than the client wants.
package relay
