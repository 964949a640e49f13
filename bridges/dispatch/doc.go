// Package dispatch runs deliveries: it executes the commands about bridges,
// subscriptions and deliveries, follows the log for each subscription, and sends.
//
// Each subscription has a lane, which takes one step at a time: it takes events
// from the log and stores their deliveries (take.go), begins and ends a round of
// attempts (round.go), or carries out a command. Lanes share the slots for attempts
// (places.go), so that a target that hangs delays only its own bridge. An attempt that
// does not return is given up, without its slot (send.go). A lane without work has no
// goroutine, reads nothing and writes nothing.
//
// What is sent, and whether, is decided by package bridges; how, by bridges/kinds.
package dispatch
