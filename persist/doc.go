// Package persist owns what every store of the log has in common: the
// appender with its group commit, the writer that says what a commit means
// (keys, fences, seqs, counts), the reads of rows, the rebuild of rows from the
// log (I2), and retention.
//
// It promises that a unit is acknowledged, and its events are published, only
// after the transaction that holds them is durable (I1, I6), that seqs are
// dense and given in the order of commits (I3), and that no unit's failure
// sinks its neighbours. It knows no database: package persist/sqlite is the
// default one and the only importer of a driver.
//
// cmd builds a store, engine appends to it; api, notify and follow read it.
package persist
