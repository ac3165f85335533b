package coder

// Page is a part of a list: at most Limit rows behind the first Offset ones. A
// limit of 0 asks for as many as the list gives at once.
type Page struct {
	Limit, Offset int
}

// Rows gives how many rows a page may have of a list that gives at most most.
func (p Page) Rows(most int) int32 {
	if p.Limit <= 0 || p.Limit > most {
		return int32(most)
	}
	return int32(p.Limit)
}

// Skip gives how many rows are before the page.
func (p Page) Skip() int32 { return int32(max(0, p.Offset)) }
