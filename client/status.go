package client

import (
	"net/http"

	"github.com/seed-2a7f8fe7/coder"
)

// Status is the HTTP status by which the server's edges tell a code. It is the
// one place that knows, together with its inverse below.
func Status(c coder.Code) int {
	switch c {
	case coder.CodeInvalid:
		return http.StatusBadRequest
	case coder.CodeUnauthenticated:
		return http.StatusUnauthorized
	case coder.CodeForbidden:
		return http.StatusForbidden
	case coder.CodeNotFound:
		return http.StatusNotFound
	case coder.CodeConflict:
		return http.StatusConflict
	case coder.CodePrecondition:
		return http.StatusPreconditionFailed
	case coder.CodeTooLarge:
		return http.StatusRequestEntityTooLarge
	case coder.CodeRateLimited:
		return http.StatusTooManyRequests
	case coder.CodeUnavailable:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// codeOf gives the code that a status tells, also of statuses that proxies and
// other servers use.
func codeOf(status int) coder.Code {
	for _, c := range []coder.Code{
		coder.CodeUnauthenticated, coder.CodeForbidden, coder.CodeNotFound, coder.CodeConflict, coder.CodePrecondition,
		coder.CodeTooLarge, coder.CodeRateLimited, coder.CodeUnavailable,
	} {
		if Status(c) == status {
			return c
		}
	}
	switch status {
	case http.StatusGone:
		return coder.CodeNotFound
	case http.StatusPreconditionRequired:
		return coder.CodePrecondition
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		return coder.CodeUnavailable
	}
	if status >= 500 {
		return coder.CodeInternal
	}
	return coder.CodeInvalid
}
