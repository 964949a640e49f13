package inbox

import "time"

// Stats is what one unit did, for metrics. It counts only once the unit is
// committed.
type Stats struct {
	Received   int
	Duplicates int
	Grouped    int             // items that joined an open digest
	Merged     int             // those of them whose digest had been posted before
	Opened     int             // digests
	Closed     map[string]int  // digests, by what closed them: a Reason, or acked
	Posted     map[Reason]int  // entries
	Sizes      []int           // items of each snapshot
	Waits      []time.Duration // from the arrival of each item to the first entry that shows it
	Woken      int             // wakes
}

func (s *Stats) posted(reason Reason, count, added int) {
	if s.Posted == nil {
		s.Posted = map[Reason]int{}
	}
	s.Posted[reason]++
	if added > 0 || reason == ReasonRemainder {
		s.Sizes = append(s.Sizes, count)
	}
}

// closed counts a digest that takes no items any more; "" = it was acknowledged.
func (s *Stats) closed(why Reason) {
	if why == "" {
		why = "acked"
	}
	if s.Closed == nil {
		s.Closed = map[string]int{}
	}
	s.Closed[string(why)]++
}

func (s *Stats) waited(d time.Duration) { s.Waits = append(s.Waits, max(0, d)) }

// Stats returns what the unit does.
func (b *Book) Stats() *Stats { return &b.stats }
