// Package frame owns the envelope of JSON-RPC 2.0.
//
// It promises that ids are returned byte for byte, and that every error in a
// message is one of a few faults, after which the next line is read normally.
// It never looks into params and knows no method.
//
// rpc parses the lines of its connections with it.
package frame
