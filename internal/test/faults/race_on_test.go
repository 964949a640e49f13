//go:build linux && race

package faults

// raced says that the program is built with the race detector, as the tests
// are: its memory and speed are not what they are otherwise.
const raced = true
