// Package lines reads the lines of a byte stream within a bound on memory. The
// wire has one line per message, and so has the output of agents.
//
// It owns the rules for where a line ends, for lines that are too long, and for
// the memory that a connection keeps. It never reads the content of a line.
package lines
