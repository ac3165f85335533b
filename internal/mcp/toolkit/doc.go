// Package toolkit declares the tools of a Model Context Protocol (MCP) server:
// their names, hints, inputs and bounds.
//
// A Tool is declared once with New, from a Go function whose input is a struct.
// The JSON schema of the input comes from the struct, with a bound for each
// string, list, map and number. The library validates each call against the
// schema before the function runs. NewServer creates a server with a set of
// tools for one caller, such as a client of the REST API with the caller's
// token. So the tools are the same over standard input and over HTTP, and what
// a caller may do is decided where the caller's requests go.
//
// A call has a deadline, its result has a maximum size, and a panic of a tool
// is an error of that call.
package toolkit
