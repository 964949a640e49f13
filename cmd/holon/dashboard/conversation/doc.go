// Package conversation is the page of one thread: its timeline, the questions that
// wait, and the line in which a person writes.
//
// Model is pure: it reads no clock, does no I/O and starts no goroutine. It takes
// messages and gives lines; what must reach the server it returns as actions of
// package screen. It promises:
//   - It holds at most maxHeld blocks of the timeline and maxBytes of their texts;
//     older ones are asked for when one scrolls up.
//   - It draws only what is visible, at most once in drawEvery for events.
//   - No text of a server or an agent reaches a line unsanitized.
//   - No typed text is lost, and no paste, question or end of a turn submits one.
//
// A Model has three parts that work on it: intake takes what comes from the server,
// keyboard does what the person asks for, drawing makes the picture.
//
// The dashboard and `holon chat` show it.
package conversation
