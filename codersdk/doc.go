// Package codersdk is the platform's public Go package. It holds the types of the
// REST API with their JSON, the checks of single values, the state tables, the
// error codes, and Client, which calls the API. Types and functions do no I/O and
// read no clock; callers pass the time. Only Client opens connections.
package codersdk
