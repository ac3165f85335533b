package externalauth

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Slack responds to every request with status 200; the body has the result.

// slackVerdict returns what the body of Slack's auth.test says about a token.
func (p *provider) slackVerdict(body []byte) (verdict, error) {
	code, err := slackError(body)
	switch code {
	case "":
		if err != nil {
			return unknown, fmt.Errorf("%s did not validate a token: %w", p.DisplayName, err)
		}
		return valid, nil
	case "invalid_auth", "not_authed", "token_expired", "token_revoked", "account_inactive":
		return revoked, fmt.Errorf("%s no longer accepts the token (%s)", p.DisplayName, code)
	case "missing_scope", "no_permission", "not_allowed_token_type":
		return insufficient, fmt.Errorf("the token lacks a permission that %s requires (%s)", p.DisplayName, code)
	default:
		return unknown, fmt.Errorf("%s did not validate a token (%.100s)", p.DisplayName, code)
	}
}

// slackError returns the error code in a body, "" for a success. It returns an error if the body has neither.
func slackError(body []byte) (code string, err error) {
	var answer struct {
		OK    bool   `json:"ok"`
		Error string `json:"error"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return "", errors.New("the response is not valid JSON")
	}
	switch {
	case answer.OK:
		return "", nil
	case answer.Error == "":
		return "", errors.New("the response has no error code")
	}
	return answer.Error, nil
}
