// Package persist owns what every store of the log has in common: the
// appender with its group commit, the writer that defines what a commit means
// (keys, fences, seqs, counts), the reads of rows, the rebuild of rows from the
// log (I2), and retention.
//
// It promises three things. A unit is acknowledged, and its events are
// published, only after their transaction is durable (I1, I6). Seqs are dense
// and in the order of commits (I3). The failure of a unit does not affect the
// others of its batch. The package knows no database: persist/sqlite is the
// default one and the only importer of a driver.
//
// cmd builds a store, engine appends to it; api, notify and follow read it.
package persist
