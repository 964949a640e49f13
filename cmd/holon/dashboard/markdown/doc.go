// Package markdown draws Markdown as rows of a terminal.
//
// Every word of a text is in its rows: HTML, definitions of links, the language of a code
// block, titles and addresses of links, and cells that have no column are shown as they
// were written. A line feed in the text begins a row. The package adds only weights and, if
// it may, the terminal's own colours; what the text has of them is removed.
//
// The conversation of the dashboard calls it, on goroutines of its own. The package keeps
// no state.
package markdown
