//go:build !race

package httpapi_test

import "testing"

// TestMatrixLive requests every route as every role, about objects of the user,
// of another user and of another organization. These are thousands of requests,
// so make unit runs them without the race detector; TestEveryRouteAtOnce runs
// with it.
func TestMatrixLive(t *testing.T) {
	newMatrix(t).columns(roles(), "own", "other's", "foreign")
}
