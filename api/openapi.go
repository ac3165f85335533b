// Package api is the contracts of the platform: openapi.json describes the REST
// API, and the packages below are the wires.
package api

import _ "embed"

// OpenAPI is the description of the REST API, OpenAPI 3 in JSON.
//
//go:embed openapi.json
var OpenAPI []byte
