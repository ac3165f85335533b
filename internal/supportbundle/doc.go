// Package supportbundle collects diagnostic data of a deployment, and optionally
// of one workspace, into a zip file. The command line and the dashboard share it.
//
// The data comes from the REST API, with the permissions of the user who creates
// the bundle, and from the agent of the workspace. Every part is independent: a
// part that fails, is forbidden or exceeds its time limit is recorded in
// manifest.json, and the others are still collected. So an outage makes a bundle
// smaller, but there is always one. Every file passes package redact before it is
// written. The size of a file, the size of the bundle and the time of the whole
// collection are bounded. (SUP-01)
package supportbundle
