package codersdk

import "github.com/google/uuid"

// ReconnectingPTYRequest is a message from a web terminal: typed keys, a new size,
// or both. (AG-14)
type ReconnectingPTYRequest struct {
	Data   string `json:"data,omitempty"`
	Height uint16 `json:"height,omitempty"`
	Width  uint16 `json:"width,omitempty"`
	// Seq numbers the messages of a client with an ID of its own: 1, 2, 3 and so on.
	// A message with a number that already took effect is ignored.
	Seq int64 `json:"seq,omitempty"`
}

// ReconnectingPTYStatus is a message to a client with an ID of its own: the first
// message, then one whenever a request took effect, and one at the end. (AG-14)
type ReconnectingPTYStatus struct {
	// Session is the terminal; another value means that the previous terminal ended.
	Session uuid.UUID `json:"session"`
	// Output is the number of bytes that the terminal wrote before the next bytes.
	Output int64 `json:"output"`
	// Input is the highest Seq that took effect.
	Input int64 `json:"input"`
	// Repaint means that the next Paint bytes draw the whole screen again and do not
	// count as output.
	Repaint bool `json:"repaint,omitempty"`
	Paint   int  `json:"paint,omitempty"`
	// Ended means that the terminal ended and that the client has all of its output.
	Ended bool `json:"ended,omitempty"`
}

// TerminalSizeOK reports whether a terminal can have that many columns and rows.
func TerminalSizeOK(columns, rows int) bool {
	return columns >= 1 && columns <= 2000 && rows >= 1 && rows <= 2000
}
