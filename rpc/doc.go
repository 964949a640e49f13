// Package rpc owns the wire: what a client sends and what it gets back. Its
// rooms are the frames (rpc/frame), the sessions and streams, and the
// transports HTTP, server-sent events, unix sockets and stdio. What a method
// does is package api's business, who gets in rpc/admission's; rpc/client is
// the other side.
//
// It promises that an event is sent as the bytes that were stored (I3), that
// no stream waits for another (I4), that every message is answered by rule,
// however broken, and that everything a connection can take has a bound (I7).
//
// cmd builds the Server and composes its Handler with an admission.Gate.
package rpc
