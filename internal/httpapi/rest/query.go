package rest

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// PathID reads a path parameter that is a UUID.
func PathID(r *http.Request, name string) (uuid.UUID, error) {
	id, err := uuid.Parse(r.PathValue(name))
	if err != nil {
		return uuid.Nil, codersdk.Invalid(name, "%q is not a UUID", Truncate(r.PathValue(name), 64))
	}
	return id, nil
}

// MaxPage is the largest number of items on one page of any list.
const MaxPage = 1000

// PageOf reads limit and offset as a codersdk.Page.
func PageOf(r *http.Request) (p codersdk.Page, err error) {
	p.Limit, p.Offset, err = Page(r)
	return p, err
}

// Page reads limit and offset. A missing limit, 0, or a value above MaxPage
// means MaxPage.
func Page(r *http.Request) (limit, offset int, err error) {
	if limit, err = QueryInt(r, "limit"); err != nil {
		return 0, 0, err
	}
	if offset, err = QueryInt(r, "offset"); err != nil {
		return 0, 0, err
	}
	if limit == 0 || limit > MaxPage {
		limit = MaxPage
	}
	return limit, offset, nil
}

// QueryInt reads a query parameter that is a number from 0; it returns 0 when
// the parameter is absent.
func QueryInt(r *http.Request, name string) (int, error) {
	v := r.URL.Query().Get(name)
	if v == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(v, 10, 32)
	if err != nil || n < 0 {
		return 0, codersdk.Invalid(name, "%q is not a number from 0", Truncate(v, 32))
	}
	return int(n), nil
}

// QueryBool reads a query parameter that is true or false; it returns false
// when the parameter is absent. A bare word such as ?follow means true.
func QueryBool(r *http.Request, name string) (bool, error) {
	v := r.URL.Query().Get(name)
	if v == "" {
		return slices.Contains(strings.Split(r.URL.RawQuery, "&"), name), nil
	}
	b, err := strconv.ParseBool(v)
	if err != nil {
		return false, codersdk.Invalid(name, "%q is neither true nor false", Truncate(v, 32))
	}
	return b, nil
}

// QueryFollow reports whether a request asks to follow a log. "?follow" and
// "?follow=" do: clients send both.
func QueryFollow(r *http.Request) (bool, error) {
	if v, ok := r.URL.Query()["follow"]; ok && v[0] == "" {
		return true, nil
	}
	return QueryBool(r, "follow")
}

// QueryID reads a query parameter that is a UUID; it returns uuid.Nil when the
// parameter is absent.
func QueryID(r *http.Request, name string) (uuid.UUID, error) {
	v := r.URL.Query().Get(name)
	if v == "" {
		return uuid.Nil, nil
	}
	id, err := uuid.Parse(v)
	if err != nil {
		return uuid.Nil, codersdk.Invalid(name, "%q is not a UUID", Truncate(v, 64))
	}
	return id, nil
}

// MaxSearch bounds a search text, in bytes.
const MaxSearch = 2000

// Truncate returns at most the first n bytes of s, for error texts.
func Truncate(s string, n int) string {
	if len(s) > n {
		return s[:n]
	}
	return s
}
