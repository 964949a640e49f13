// Package question puts a question to a person into words and lines: what will be done and
// to what, the command, the directory, the changes, the whole input. Everybody who shows a
// question takes its words from here, so that a person who decides reads what will happen,
// whatever they read it with. Review does the same with the result of a turn that waits for
// a review.
//
// It promises:
//   - Every character of the command, of the input and of the changed lines is in the lines,
//     hidden ones made visible. Nothing is joined, and nothing is cut; who has no room for
//     all lines says with More how many are not shown, and takes no option that Allows before
//     they were shown once.
//   - The input has its source text: no number is read and written again.
//   - The result is harmless on a terminal.
//
// The package is pure. The page of the console has the same rules in question.js; the vectors
// in testdata bind both.
package question
