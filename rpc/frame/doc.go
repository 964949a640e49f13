// Package frame owns the bytes of a message before they mean anything: the
// bounded reader of lines and the envelope of JSON-RPC 2.0.
//
// It promises that no input, however long or broken, costs more memory than
// the bound on a frame, that ids come out byte for byte as they went in, and
// that whatever is wrong with a message is told by one of a few faults, after
// which the next line is read as if nothing had happened. It never looks into
// params and knows no method.
//
// rpc reads its connections through it.
package frame
