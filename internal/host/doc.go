// Package host asks the kernel of this machine what only it knows: which user's
// socket is at the other end of a connection (PeerUID), whether a process is still
// the one that was recorded (Process), whose it is (ProcessUID), and how much memory it
// uses (PSS) and there is (Memory).
//
// It decides nothing. rpc/admission decides which users a server admits,
// rpc/client to which user it sends a token, agents/process which group it may
// end, cmd/holon/servers which server a user may stop. What the kernel does not say
// for certain is an error, never a guess. The package imports no other package of
// this module and keeps no state. All functions may be called from many goroutines.
package host
