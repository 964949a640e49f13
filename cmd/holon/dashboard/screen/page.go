package screen

import (
	"time"

	tea "charm.land/bubbletea/v2"
)

// Page is one screen of the dashboard: a model that takes messages and gives
// lines. The program alone calls it, from one goroutine. Time comes as an
// argument, so that tests decide it.
type Page interface {
	// Update takes a message and returns what it asks of the program.
	Update(now time.Time, msg tea.Msg) []Action
	// Lines are exactly height lines of exactly width columns. The result
	// changes only by Update, by the size, and at Changes. The last line is for
	// help: the program puts its own notices over it, so nothing that a person
	// needs may be there alone.
	Lines(now time.Time, width, height int) []string
	// Changes is when Lines change by time alone, zero if they do not.
	Changes(now time.Time) time.Time
	// Cursor is where the terminal's cursor is in Lines of that size, for
	// what a person types; show is false if nothing is typed. The program
	// handles no key but Ctrl-C by itself: a page knows which letters are text.
	Cursor(width, height int) (x, y int, show bool)
}
