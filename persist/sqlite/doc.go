// Package sqlite is the default store: the log and its rows in one SQLite
// database in WAL mode with synchronous=FULL.
//
// One connection writes, and only the goroutine that runs the appender uses
// it; a few connections read, each call in one short transaction. It is the
// only package that imports a database driver, and it speaks to the driver
// directly: database/sql would add a conversion and two allocations to every
// value of every event.
//
// While a store is open its files must not be opened by any other means in
// the same process: closing any descriptor of a file drops the POSIX locks
// that SQLite holds on it.
package sqlite
