package oauth2provider

import (
	"errors"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Error codes of RFC 6749, 7591 and 8707.
const (
	InvalidRequest          = "invalid_request"
	InvalidClient           = "invalid_client"
	InvalidGrant            = "invalid_grant"
	InvalidScope            = "invalid_scope"
	InvalidTarget           = "invalid_target"
	InvalidToken            = "invalid_token"
	InvalidRedirectURI      = "invalid_redirect_uri"
	InvalidClientMetadata   = "invalid_client_metadata"
	UnapprovedStatement     = "unapproved_software_statement"
	UnsupportedGrantType    = "unsupported_grant_type"
	UnsupportedResponseType = "unsupported_response_type"
	AccessDenied            = "access_denied"
	ServerError             = "server_error"
	TemporarilyUnavailable  = "temporarily_unavailable"
)

// maxDescription bounds the text of a Failure, in bytes.
const maxDescription = 2048

// Failure is an error of the OAuth2 protocol. Both texts are safe to show to the application.
type Failure struct{ Code, Description string }

// Error returns the code and the description.
func (f *Failure) Error() string { return f.Code + ": " + f.Description }

// failure returns a Failure with a description of bounded length.
func failure(code, description string) *Failure {
	const cut = " (truncated)"
	if len(description) > maxDescription {
		description = strings.ToValidUTF8(description[:maxDescription-len(cut)], "") + cut
	}
	return &Failure{Code: code, Description: description}
}

// AsFailure returns the Failure for any error. It reveals the message of a *codersdk.Error that says what is wrong
// with the request, and nothing of other errors.
func AsFailure(err error) *Failure {
	if f, ok := errors.AsType[*Failure](err); ok {
		return f
	}
	if e, ok := errors.AsType[*codersdk.Error](err); ok {
		switch e.Code {
		case codersdk.CodeInvalid, codersdk.CodeTooLarge:
			return failure(InvalidRequest, e.Message)
		case codersdk.CodeRateLimited, codersdk.CodeUnavailable:
			return failure(TemporarilyUnavailable, e.Message)
		}
	}
	return failure(ServerError, "The server failed; try again later")
}

// problems collects what is wrong with the fields of a request.
type problems []string

func (p *problems) add(field, reason string) { *p = append(*p, field+": "+reason) }

// failure returns the Failure of all problems, nil if there are none.
func (p problems) failure(code string) error {
	if len(p) == 0 {
		return nil
	}
	return failure(code, strings.Join(p, "; "))
}
