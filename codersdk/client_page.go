package codersdk

import (
	"context"
	"maps"
	"net/url"
	"strconv"
)

// fullPage is the number of rows that a list returns at once.
const fullPage = 1000

// all reads every page of a list. If the query has a limit, it reads one page.
func all[T any](ctx context.Context, c *Client, path string, q url.Values) ([]T, error) {
	if q.Has("limit") {
		var out []T
		err := c.do(ctx, "GET", path, q, nil, &out)
		return out, err
	}
	q = maps.Clone(q)
	if q == nil {
		q = url.Values{}
	}
	q.Set("limit", strconv.Itoa(fullPage))
	var out []T
	for {
		q.Set("offset", strconv.Itoa(len(out)))
		var rows []T
		if err := c.do(ctx, "GET", path, q, nil, &rows); err != nil {
			return nil, err
		}
		if out = append(out, rows...); len(rows) != fullPage {
			return out, nil
		}
	}
}
