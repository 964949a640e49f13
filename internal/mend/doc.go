// Package mend reads JSON that has the usual mistakes of programs: text that was cut
// within a character, a byte order mark, numbers that JSON does not have. It owns what
// becomes of each of them, for everything that arrives from agents and senders and for
// what the client sends. POST /rpc does not use it: there a mistake is an error.
//
// What the package promises: what is JSON already is not changed; no text is lost but
// the part of a character that nobody can read.
package mend
