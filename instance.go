package coder

// AWSInstanceIdentityToken is what Amazon says of a machine: a document, as the
// machine was given it, and the signature under it in base64. (AG-02)
type AWSInstanceIdentityToken struct {
	Document  string `json:"document"`
	Signature string `json:"signature"`
}

// AzureInstanceIdentityToken is what Azure says of a machine: a signed message
// of PKCS #7 in base64.
type AzureInstanceIdentityToken struct {
	Encoding  string `json:"encoding"`
	Signature string `json:"signature"`
}

// GoogleInstanceIdentityToken is what Google says of a machine.
type GoogleInstanceIdentityToken struct {
	JSONWebToken string `json:"json_web_token"`
}

// AuthenticateResponse gives an agent that proved its machine its token.
type AuthenticateResponse struct {
	SessionToken string `json:"session_token"`
}
