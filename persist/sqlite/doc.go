// Package sqlite is the default store: the log and its rows in one SQLite
// database in WAL mode with synchronous=FULL.
//
// One connection writes; only the goroutine that runs the appender uses it. A
// few connections read, each call in one short transaction. No other package
// imports a database driver. This one calls the driver directly: database/sql
// would add a conversion and two allocations to every value of every event.
//
// While a store is open, the same process must not open its files in any other
// way: closing any descriptor of a file drops the POSIX locks that SQLite holds
// on it.
package sqlite
