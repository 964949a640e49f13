// Package memory is a log in memory: the rules of package persist over the
// smallest database that can carry them. It shows that the rules need no SQL,
// and what a database has to offer. It is for tests: it keeps nothing.
package memory
