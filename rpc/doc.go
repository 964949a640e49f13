// Package rpc owns the wire: what a client sends and receives. Its parts are
// the frames (rpc/frame), the sessions and streams, and the transports HTTP,
// server-sent events, unix sockets and stdio. Package api owns what a method
// does, rpc/admission which requests are admitted; rpc/client is the client's
// side.
//
// It promises that an event is sent as the stored bytes (I3), that no stream
// waits for another (I4), that every message is answered according to the
// protocol, however broken, and that every resource of a connection has a bound
// (I7).
//
// cmd builds the Server and composes its Handler with an admission.Gate.
package rpc
