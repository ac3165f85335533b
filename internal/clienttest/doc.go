// Package clienttest holds the product to what shipped clients send, accept
// and parse. api/contract/clients.json lists their command lines, requests,
// version gates, WebSockets, downloads, files and error texts; each entry there
// has exactly one row here, and a test fails for an entry without one.
//
// The rows run against one real server and the real binary, with a workspace
// that runs. To add a client, add its entries to clients.json and its rows to a
// file. Rows of features that the product does not have check that the product
// says so, so that adding the feature makes the test demand a row that uses it.
package clienttest
