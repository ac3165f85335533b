// Package coder is the vocabulary of the platform: the nouns that every other
// room speaks of, with the JSON of the REST contract, their validation, their
// state tables, the rule that matches tags, and the error codes. It imports
// only the standard library and uuid, reads no clock but the one it is given,
// and does no I/O.
package coder
