// Package host asks the kernel of this machine what only it knows: whose
// socket is at the other end of a connection (PeerUID), and whether a process
// is still the one that was recorded (Process).
//
// It decides nothing: rpc/admission decides whom a server lets in, rpc/client
// to whom it sends a token, agents/process which group it may end. What the
// kernel does not tell for certain is an error, never a guess. It imports no
// other package of this module and keeps no state; all functions may be called
// from any number of goroutines.
package host
