// Package rpc owns the wire: what a client sends and what it gets back. Its
// rooms are the frames (rpc/frame), the one table of methods with everything
// that is made from it, the mapping of errors, the streams and the transports
// HTTP, server-sent events, unix sockets and stdio. Who gets in is
// rpc/admission's business; rpc/client is the other side.
//
// It promises that an event is sent as the bytes that were stored (I3), that
// no stream waits for another (I4), that every message is answered by rule,
// however broken, and that everything a connection can take has a bound (I7).
//
// It decides nothing about threads, turns and items: handlers decode, call the
// Engine or the Reader, and encode.
//
// cmd builds the Server and composes its Handler with an admission.Gate.
package rpc

//go:generate go run ./gen
