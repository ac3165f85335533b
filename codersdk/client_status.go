package codersdk

import (
	"net/http"
)

// Status returns the HTTP status of a code. This table and its inverse below are
// the only mapping between codes and statuses.
func Status(c Code) int {
	switch c {
	case CodeInvalid:
		return http.StatusBadRequest
	case CodeUnauthenticated:
		return http.StatusUnauthorized
	case CodeForbidden:
		return http.StatusForbidden
	case CodeNotFound:
		return http.StatusNotFound
	case CodeConflict:
		return http.StatusConflict
	case CodePrecondition:
		return http.StatusPreconditionFailed
	case CodeTooLarge:
		return http.StatusRequestEntityTooLarge
	case CodeRateLimited:
		return http.StatusTooManyRequests
	case CodeUnavailable:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// codeOf returns the code of a status, including statuses that proxies and other
// servers use.
func codeOf(status int) Code {
	for _, c := range []Code{
		CodeUnauthenticated, CodeForbidden, CodeNotFound, CodeConflict, CodePrecondition,
		CodeTooLarge, CodeRateLimited, CodeUnavailable,
	} {
		if Status(c) == status {
			return c
		}
	}
	switch status {
	case http.StatusGone:
		return CodeNotFound
	case http.StatusPreconditionRequired:
		return CodePrecondition
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		return CodeUnavailable
	}
	if status >= 500 {
		return CodeInternal
	}
	return CodeInvalid
}
