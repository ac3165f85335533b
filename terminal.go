package coder

// ReconnectingPTYRequest is what a viewer of a web terminal sends: keys that
// were typed, a new size, or both. (AG-14)
type ReconnectingPTYRequest struct {
	Data   string `json:"data,omitempty"`
	Height uint16 `json:"height,omitempty"`
	Width  uint16 `json:"width,omitempty"`
}

// TerminalSizeOK says whether a terminal may have that many columns and rows.
func TerminalSizeOK(columns, rows int) bool {
	return columns >= 1 && columns <= 2000 && rows >= 1 && rows <= 2000
}
