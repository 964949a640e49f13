// Package threads owns conversation threads: their row, their states with the
// verbs that each allows, and the fold of their events into the row (I2).
//
// It is pure: an actor in package engine decides and commits, persist stores.
package threads
