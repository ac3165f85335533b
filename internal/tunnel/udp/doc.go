// Package udp is the machine's part in direct paths: sockets that send and receive many
// datagrams at once where the kernel can, and the addresses that others may know.
package udp
