// Package frame owns the envelope of JSON-RPC 2.0.
//
// It promises that ids come out byte for byte as they went in, and that
// whatever is wrong with a message is one of a few faults, after which the next
// line is read as if nothing had happened. It never looks into params and
// knows no method.
//
// rpc parses the lines of its connections with it.
package frame
