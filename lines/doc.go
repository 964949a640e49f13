// Package lines reads the lines of a byte stream within a bound on memory. All
// of the wire's framing is one line per message, and so is what agents print.
//
// It owns the rules for where a line ends, for lines that are too long, and
// for the memory that a connection keeps. It never looks at what a line says.
package lines
