package codersdk

// Page selects at most Limit rows of a list, after the first Offset rows. A limit
// of 0 selects as many as the list returns at once.
type Page struct {
	Limit, Offset int
}

// Rows returns the number of rows to read for the page of a list that returns at most
// most rows at once.
func (p Page) Rows(most int) int32 {
	if p.Limit <= 0 || p.Limit > most {
		return int32(most)
	}
	return int32(p.Limit)
}

// Skip returns the number of rows before the page.
func (p Page) Skip() int32 { return int32(max(0, p.Offset)) }
