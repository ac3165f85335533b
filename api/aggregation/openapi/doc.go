// Package openapi has the schemas of the aggregated API and of what Kubernetes
// has in every API, made from their Go types by `make generate`.
package openapi
