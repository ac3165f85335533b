// Package tcp sets up TCP connections for records of tunnels.
package tcp
