// Package tools are the tools with which a program acts for a user: on their
// workspaces, templates, builds, files, ports and keys.
//
// Each tool calls the REST API with the token of the user, and reaches into a
// workspace through a tunnel that the server grants to the token. So the roles
// of the user, and the scopes and the allow list of the token, decide about each
// call in the server, and changes are in the audit log like those of any other
// client. The tools have no rights of their own.
//
// Results are short views of the API's objects: a model reads them.
package tools

// Instructions introduce the tools to a model.
const Instructions = "Tools for remote development environments, which are called workspaces. A workspace is built from a version of a template. " +
	"Starting, stopping and creating take minutes: read the status with coder_get_workspace. Workspaces are named as name, owner/name or ID."
