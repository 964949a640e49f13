package logring

import (
	"sync"
	"time"
	"unicode/utf8"
)

// maxMessageBytes bounds one line: the ring never holds more than lines × this.
const maxMessageBytes = 4 << 10

// DefaultLines is how many lines a ring holds by default: as many as a client
// can request at once.
const DefaultLines = 10_000

// Line is one line of the log.
type Line struct {
	Position int64 // 1, 2, 3, … since the server's start
	Level    string
	Time     time.Time
	Message  string
}

// Ring holds the newest lines. All methods may be called from many goroutines.
type Ring struct {
	mu    sync.Mutex
	lines []Line // a ring once full; the line of position p is at (p-1) % max
	max   int
	next  int64         // the position of the next line
	wake  chan struct{} // closed and replaced at each line; nil while no reader waits
}

// New makes a ring of at most max lines (0 = DefaultLines).
func New(max int) *Ring {
	if max <= 0 {
		max = DefaultLines
	}
	return &Ring{max: max, next: 1}
}

// Add appends a line. A message longer than 4 KiB is cut.
func (r *Ring) Add(level string, at time.Time, message string) {
	if len(message) > maxMessageBytes {
		cut := maxMessageBytes
		for cut > 0 && !utf8.RuneStart(message[cut]) {
			cut--
		}
		message = message[:cut] + "…"
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	line := Line{Position: r.next, Level: level, Time: at, Message: message}
	if len(r.lines) < r.max {
		r.lines = append(r.lines, line)
	} else {
		r.lines[(r.next-1)%int64(r.max)] = line
	}
	r.next++
	if r.wake != nil {
		close(r.wake)
		r.wake = nil
	}
}

// Next returns the position that the next line will have.
func (r *Ring) Next() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.next
}

// From returns at most limit lines from the position on, oldest first, and the
// position to continue from. It skips lines that the ring has lost.
func (r *Ring) From(position int64, limit int) (lines []Line, next int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	position = min(max(position, r.next-int64(len(r.lines))), r.next)
	n := min(int(r.next-position), limit)
	lines = make([]Line, n)
	for i := range lines {
		lines[i] = r.lines[(position-1+int64(i))%int64(r.max)]
	}
	return lines, position + int64(n)
}

// Wait returns a channel that is closed once there is a line at the position.
func (r *Ring) Wait(position int64) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next > position {
		c := make(chan struct{})
		close(c)
		return c
	}
	if r.wake == nil {
		r.wake = make(chan struct{})
	}
	return r.wake
}
