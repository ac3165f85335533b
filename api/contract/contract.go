// Package contract embeds the facts about the public interfaces that tests hold
// the program to: REST endpoints, commands, metrics, the provisioner's wire, and
// what shipped clients send and expect.
package contract

import "embed"

// Files holds the JSON files of this folder.
//
//go:embed *.json
var Files embed.FS
