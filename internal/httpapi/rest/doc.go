// Package rest holds what the edges of the REST API share: the form of a
// route, reading of requests, and writing of replies.
//
// Package httpapi serves the routes. A package below httpapi, such as the one
// of a feature, declares routes in this form, and httpapi serves them like its
// own.
package rest
