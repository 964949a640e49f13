// Package dispatch runs deliveries: it executes the commands about bridges,
// subscriptions and deliveries, follows the log for each subscription, and sends.
//
// Each subscription has a lane, which takes one step at a time: it takes events
// from the log and stores what they become (take.go), begins the attempt of its
// oldest delivery that is due (attempt.go), or carries out a command. The places
// for attempts are shared (places.go), so that a target that hangs delays its own
// bridge only. A lane without work has no goroutine, reads nothing and writes
// nothing.
//
// What is sent, and whether, is decided by package bridges; how, by bridges/kinds.
package dispatch
