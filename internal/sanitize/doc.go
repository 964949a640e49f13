// Package sanitize makes text of agents, people and programs harmless where it
// is shown: on a terminal, in a title, in a message to another program.
//
// It owns the rule of what an escape sequence is and which characters act
// instead of being shown. What all its functions return is valid UTF-8 without
// escape sequences, control characters and characters that reorder text, and
// gives itself when it is sanitized again. They differ in what a single control
// character becomes, since the readers differ:
//
//   - Text and Stream show that something was there: ␇, or U+FFFD. They are for
//     a person who reads. Text that a person decides about passes Literal first,
//     which shows escape sequences too.
//   - Line makes a blank of it. It is for titles and excerpts.
//   - Plain leaves it out. It is for models and for other programs' pages.
//
// Joiners stay, because emoji and scripts need them, and so do characters of any
// width. The work grows with the length of the text and no faster. The package
// holds no state of its own; its functions may be called by any goroutine.
package sanitize
