package coderclient

import (
	"net/url"
	"strconv"
	"testing"
)

func TestPages(t *testing.T) {
	for _, c := range []struct {
		name         string
		rows, calls  int
		knowsOffsets bool
		want         int
	}{
		{"one page", 10, 1, true, 10},
		{"a page to the brim", 1000, 2, true, 1000},
		{"three pages", 2500, 3, true, 2500},
		{"more than is read", 20000, 16, true, 16000},
		{"a server without offsets", 2500, 2, false, 1000},
	} {
		calls := 0
		got, err := pages(func(q url.Values) ([]int, error) {
			calls++
			offset, _ := strconv.Atoi(q.Get("offset"))
			if !c.knowsOffsets {
				offset = 0
			}
			var rows []int
			for i := offset; i < min(offset+1000, c.rows); i++ {
				rows = append(rows, i)
			}
			return rows, nil
		}, func(i int) int { return i })
		if err != nil || len(got) != c.want || calls != c.calls {
			t.Errorf("%s: %d rows after %d calls, %v", c.name, len(got), calls, err)
		}
	}
}
