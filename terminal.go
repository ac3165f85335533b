package coder

import "github.com/google/uuid"

// ReconnectingPTYRequest is what a viewer of a web terminal sends: keys that
// were typed, a new size, or both. (AG-14)
type ReconnectingPTYRequest struct {
	Data   string `json:"data,omitempty"`
	Height uint16 `json:"height,omitempty"`
	Width  uint16 `json:"width,omitempty"`
	// Seq numbers what a viewer with an id of its own sends: 1, 2, 3 and so on.
	// What has the number of something that took effect already does nothing.
	Seq int64 `json:"seq,omitempty"`
}

// ReconnectingPTYStatus is what a viewer with an id of its own is told: first
// of all, and then whenever something that it sent took effect. (AG-14)
type ReconnectingPTYStatus struct {
	// Session is the terminal; another one means that the former has ended.
	Session uuid.UUID `json:"session"`
	// Output is how many bytes the terminal has shown before what comes next.
	Output int64 `json:"output"`
	// Input is the highest number of what took effect.
	Input int64 `json:"input"`
	// Repaint says that Paint bytes come next which draw the screen anew, and
	// are not counted as output.
	Repaint bool `json:"repaint,omitempty"`
	Paint   int  `json:"paint,omitempty"`
}

// TerminalSizeOK says whether a terminal may have that many columns and rows.
func TerminalSizeOK(columns, rows int) bool {
	return columns >= 1 && columns <= 2000 && rows >= 1 && rows <= 2000
}
