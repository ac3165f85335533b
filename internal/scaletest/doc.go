// Package scaletest puts load on a deployment and measures how it copes.
//
// Each test is a function that adds tasks to a Run. The Run executes the tasks
// with bounded concurrency and records what they measure in histograms of fixed
// size, so that a test of an hour takes no more memory than one of a minute.
// Its Report has the percentiles, as JSON and as Markdown with plots.
//
// Everything that a test creates has a name that starts with Prefix. Cleanup
// deletes by that prefix, also after a test that was killed. (SCL-01)
package scaletest

// Prefix starts the name of every user, workspace and token that a test creates.
const Prefix = "scaletest-"
