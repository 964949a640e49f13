// Package memory is a log in memory: the rules of package persist over the
// smallest possible database. It shows that the rules need no SQL, and what they
// need of a database. It is for tests: nothing is durable.
package memory
