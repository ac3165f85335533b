// Package clienttest checks that the product supports what released clients send,
// accept and parse. api/contract/clients.json lists their command lines, requests,
// version gates, WebSockets, downloads, files and error texts. Each entry there has
// exactly one row here. TestEveryEntryHasARow fails for an entry without a row.
//
// The rows run against a real server and the real binary, with a running workspace.
// To add a client, add its entries to clients.json and its rows to a file. Rows of
// missing features check that the product rejects requests for the feature. These
// rows fail once the feature is added, and must then be replaced.
package clienttest
