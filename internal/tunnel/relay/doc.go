// Package relay is the protocol between the ends of tunnels and the relay: the messages,
// the links that carry them, and the queue of a link. The relay itself is
// internal/switchboard, the ends are package tunnel.
//
// Each end has a Link to the relay, usually a WebSocket. The first message of an end is
// text: "attach SESSION INSTANCE" from a client and "serve INSTANCE" from an agent, both
// in hexadecimal. SESSION is 16 random bytes that identify the tunnel to the relay.
// INSTANCE identifies one run of the agent (see Instance). After that, binary messages
// carry packets:
//
//	session [16]byte, then one or more of: length uint16 (big endian), packet
//
// A message contains packets of one session and at most MaxMessage bytes. The relay
// forwards it without reading it. The relay sends text messages, too: to a client "online"
// or "offline" when the agent connects or disconnects, to an agent "attached SESSION" when
// a session has a new link. The relay closes a client's link with StatusRestarted when the
// agent is not the instance that the client expects.
package relay
