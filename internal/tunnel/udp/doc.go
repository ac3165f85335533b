// Package udp has the sockets and local addresses for direct paths. The sockets send and
// receive many datagrams at once where the kernel supports that.
package udp
