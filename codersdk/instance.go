package codersdk

// AWSInstanceIdentityToken is the identity document of an Amazon EC2 instance, byte
// for byte, and its signature in base64. (AG-02)
type AWSInstanceIdentityToken struct {
	AgentName string `json:"agent_name,omitempty"` // of several agents on the instance
	Document  string `json:"document"`
	Signature string `json:"signature"`
}

// AzureInstanceIdentityToken is the attested document of an Azure instance: a signed PKCS #7 message in base64.
type AzureInstanceIdentityToken struct {
	AgentName string `json:"agent_name,omitempty"` // of several agents on the instance
	Encoding  string `json:"encoding"`
	Signature string `json:"signature"`
}

// GoogleInstanceIdentityToken is the identity token (JWT) of a Google Cloud instance.
type GoogleInstanceIdentityToken struct {
	AgentName    string `json:"agent_name,omitempty"` // of several agents on the instance
	JSONWebToken string `json:"json_web_token"`
}

// AuthenticateResponse carries the token of an agent that proved its instance.
type AuthenticateResponse struct {
	SessionToken string `json:"session_token"`
}
