package overview

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/seed82539d15/holon/threads"
)

// list holds the threads and the order in which they are shown.
type list struct {
	threads map[string]*Thread
	rows    []*Thread   // in the order of groups, of those that are shown
	in      []group     // the group of each row when they were put in order
	counts  [groups]int // of threads that match the filter, as they are now
	failed  int         // of those that are done
	used    used
	shared  map[string]int // threads that write in a directory, if more than one does

	selected    string
	wanted      string // selected as soon as it is listed: the thread that the person has started
	row         int    // index of the selected row when it was last found
	filter      string
	partly      bool // the server has more threads that match it than it has listed
	closedShown bool // closed threads are shown

	served bool   // the server counts threads, and finds them by a text
	beyond Counts // threads that are not held
	cut    bool   // there are such that need somebody, work or have failed
}

// put adds or replaces threads. whole says that these are all.
func (l *list) put(threads []Thread, whole bool) {
	if whole || l.threads == nil {
		l.threads = make(map[string]*Thread, len(threads))
	}
	for i := range threads {
		t := threads[i]
		t.clean()
		// An answer that was slow must not replace a newer one.
		if old := l.threads[t.ID]; old != nil && old.LatestSeq > t.LatestSeq {
			continue
		}
		l.threads[t.ID] = &t
	}
	l.forget()
	l.count()
	for i, row := range l.rows {
		if t := l.threads[row.ID]; t != nil {
			l.rows[i] = t
		}
	}
	l.shared = make(map[string]int)
	for _, t := range l.threads {
		if t.writes() {
			l.shared[t.directory()]++
		}
	}
}

// maxClosed bounds the closed threads that are kept: threads that are not closed
// are what there is, but closed ones become ever more.
const maxClosed = 200

// forget forgets the oldest half of the closed threads when there are too many.
func (l *list) forget() {
	var over []*Thread
	for _, t := range l.threads {
		if t.group() == closed {
			over = append(over, t)
		}
	}
	if len(over) <= maxClosed {
		return
	}
	slices.SortFunc(over, inOrder)
	for _, t := range over[maxClosed/2:] {
		delete(l.threads, t.ID)
	}
	if l.served {
		l.beyond.Closed += len(over) - maxClosed/2
	}
}

// count counts the threads of each group. A row that stays where it is for a moment counts
// where it belongs, as in the top line.
func (l *list) count() {
	l.counts, l.failed = [groups]int{}, 0
	for _, t := range l.threads {
		if !l.matches(t) {
			continue
		}
		if l.counts[t.group()]++; t.Summary.Status == statusFailed {
			l.failed++
		}
	}
}

// arrange puts the rows in order.
func (l *list) arrange() {
	l.rows, l.used = l.rows[:0], used{}
	l.count()
	for _, t := range l.threads {
		g := t.group()
		if !l.matches(t) {
			continue
		}
		if g != closed || l.closedShown || l.filter != "" {
			l.rows = append(l.rows, t)
			l.used.note(l, t)
		}
	}
	slices.SortFunc(l.rows, inOrder)
	l.in = l.in[:0]
	for _, t := range l.rows {
		l.in = append(l.in, t.group())
	}
	l.find()
}

// inOrder returns the order of rows: what waits and what works the oldest first, what is done the
// newest first, but before that what has failed, and what is not told: it would be far below.
func inOrder(a, b *Thread) int {
	if c := cmp.Compare(a.group(), b.group()); c != 0 {
		return c
	}
	c := a.since().Compare(b.since())
	if a.group() >= done {
		c = -c
	}
	return cmp.Or(cmp.Compare(a.rank(), b.rank()), c, strings.Compare(a.ID, b.ID))
}

// matches reports whether a thread is listed.
func (l *list) matches(t *Thread) bool {
	if l.filter == "" {
		return t.shown()
	}
	text := strings.ToLower(t.title() + "\n" + t.Agent + "\n" + t.Summary.Cwd + "\n" + t.Summary.Status + "\n" + t.notTold(time.UTC))
	if t.Summary.Git != nil {
		text += "\n" + strings.ToLower(t.Summary.Git.Branch)
	}
	for word := range strings.FieldsSeq(strings.ToLower(l.filter)) {
		if !strings.Contains(text, word) && !threads.IDHas(t.ID, word) {
			return false
		}
	}
	return true
}

// find finds the selected row again. If it is gone, the one in its place is
// selected.
func (l *list) find() {
	if l.wanted != "" && l.index(l.wanted) >= 0 {
		l.selected, l.wanted = l.wanted, ""
	}
	if i := l.index(l.selected); i >= 0 {
		l.row = i
		return
	}
	l.row = max(min(l.row, len(l.rows)-1), 0)
	l.selected = ""
	if len(l.rows) > 0 {
		l.selected = l.rows[l.row].ID
	}
}

func (l *list) index(id string) int {
	return slices.IndexFunc(l.rows, func(t *Thread) bool { return t.ID == id })
}

// move selects the row that is n rows further.
func (l *list) move(n int) {
	l.find()
	if len(l.rows) == 0 {
		return
	}
	l.row = max(min(l.row+n, len(l.rows)-1), 0)
	l.selected, l.wanted = l.rows[l.row].ID, ""
}

// current returns the selected thread, nil if there is none.
func (l *list) current() *Thread { return l.threads[l.selected] }

// nextWaiting returns the thread that needs the person after the given one, in the
// order of the list and around its end; "" if there is none. Threads that only a person has
// told what is new follow those that ask.
func (l *list) nextWaiting(after string) string {
	var waiting []*Thread
	for _, t := range l.threads {
		if t.group() == needsYou || t.stuck() && t.shown() {
			waiting = append(waiting, t)
		}
	}
	if len(waiting) == 0 {
		return ""
	}
	slices.SortFunc(waiting, inOrder)
	i := slices.IndexFunc(waiting, func(t *Thread) bool { return t.ID == after })
	return waiting[(i+1)%len(waiting)].ID
}

// beside names another thread that writes in the directory of one, "" if none
// does.
func (l *list) beside(t *Thread) string {
	if !l.crowded(t) {
		return ""
	}
	var other *Thread
	for _, o := range l.threads {
		if o.ID != t.ID && o.writes() && o.directory() == t.directory() && (other == nil || o.ID < other.ID) {
			other = o
		}
	}
	if other == nil {
		return ""
	}
	return other.title()
}

// crowded reports whether another thread works in the same directory.
func (l *list) crowded(t *Thread) bool { return t.writes() && l.shared[t.directory()] > 1 }
