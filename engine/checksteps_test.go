package engine_test

import (
	"slices"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/notify/fold"
	"github.com/seed82539d15/holon/persist/sqlite"
	"github.com/seed82539d15/holon/turns"
)

// path is all tries of a path in a log; try is one of them.
type path struct{ turn, step string }

type try struct {
	path
	epoch int
}

type path1 struct {
	first int64 // seq of the first event of its first try
	epoch int
}

func tryOf(turnID string, r notify.Ref) try { return try{path{turnID, r.Step}, r.Epoch} }

// lineage checks the lineage of an event, finds its try, and folds the try's row
// (I8: no event of a superseded try follows).
func (c *checker) lineage(e *event, body any) {
	c.t.Helper()
	if e.TurnID == "" || slices.Contains([]string{notify.TurnQueued, notify.StreamRewind, notify.TurnLate, notify.TurnDetached}, e.Method) || c.ofInput(e) {
		if len(e.Lineage) > 0 {
			c.errorf(*e, "has a lineage")
		}
		return
	}
	n := len(e.Lineage)
	if n == 0 || e.Lineage[0] != (notify.Ref{Step: "", Epoch: e.Attempt}) || e.Lineage[n-1] != (notify.Ref{Step: e.Step, Epoch: e.Epoch}) {
		c.errorf(*e, "has the lineage %v", e.Lineage)
		return
	}
	if m := c.marks[e.TurnID]; m != nil && m.Stale(e.Lineage, e.Seq) {
		c.errorf(*e, "was superseded before it came")
	}
	key := tryOf(e.TurnID, e.Lineage[n-1])
	prev := c.tries[key]
	if prev == nil {
		c.begins(*e, key)
		e.span = e.Seq
	} else {
		e.span = prev.Seq
		if !slices.Equal(prev.Lineage, e.Lineage) {
			c.errorf(*e, "the try began as part of %v", prev.Lineage)
		}
	}
	if next := turns.ApplyStep(prev, e.header(), body); next != nil {
		c.tries[key] = next
	}
}

// ofInput reports whether the event is of a user message.
func (c *checker) ofInput(e *event) bool {
	if e.ItemID == "" {
		return false
	}
	if it := c.items[e.ItemID]; it != nil {
		return it.Type == items.KindUserMessage
	}
	return kindOf(*e) == items.KindUserMessage
}

// begins checks the first event of a try.
func (c *checker) begins(e event, key try) {
	c.t.Helper()
	p := c.paths[key.path]
	if p == nil {
		p = &path1{first: e.Seq}
		c.paths[key.path] = p
	}
	if key.epoch != p.epoch+1 && (key.step != "" || key.epoch <= p.epoch) {
		c.errorf(e, "is epoch %d of a step that has had %d", key.epoch, p.epoch)
	}
	if old := c.tries[try{key.path, p.epoch}]; old != nil && old.HiddenBy == 0 {
		c.errorf(e, "epoch %d of the step is still live", p.epoch)
	}
	p.epoch = key.epoch
	if key.step != "" && e.Method != notify.StepStarted {
		c.errorf(e, "is the first event of step %s", key.step)
	}
	for _, r := range e.Lineage[:len(e.Lineage)-1] {
		if up := c.tries[tryOf(e.TurnID, r)]; up == nil || up.HiddenBy != 0 {
			c.errorf(e, "%s.%d is not live", r.Step, r.Epoch)
		}
	}
}

func (c *checker) step(e event, b *turns.StepEvent) {
	c.t.Helper()
	row := c.tries[tryOf(e.TurnID, notify.Ref{Step: e.Step, Epoch: e.Epoch})]
	if t := c.turns[e.TurnID]; t == nil || t.State != turns.Active || e.Attempt != t.Attempt || !t.RetryAt.IsZero() {
		c.errorf(e, "is no event of an active turn")
	}
	if ends := e.Method == notify.StepEnded; ends != b.Status.Ended() || !ends && row.Seq != e.Seq || ends && row.UpdatedSeq != e.Seq {
		c.errorf(e, "the step is %+v", row)
	}
}

// rewind checks a marker and supersedes what it names.
func (c *checker) rewind(e event, b *turns.RewindEvent) {
	c.t.Helper()
	p := c.paths[path{e.TurnID, b.Step}]
	if e.Attempt != 0 || p == nil || b.NewEpoch != p.epoch+1 || b.SupersededAfterSeq != p.first-1 {
		c.errorf(e, "the step is %+v", p)
		return
	}
	m := c.marks[e.TurnID]
	if m == nil {
		m = &fold.Markers{}
		c.marks[e.TurnID] = m
	}
	m.Add(fold.Marker{Step: b.Step, NewEpoch: b.NewEpoch, After: b.SupersededAfterSeq})
	took := 0
	for key, row := range c.tries {
		if key.turn != e.TurnID {
			continue
		}
		if next := turns.ApplyStep(row, e.header(), b); next != nil {
			c.tries[key] = next
			took++
		}
	}
	if took == 0 {
		c.errorf(e, "supersedes nothing")
	}
	for _, it := range c.items {
		if it.TurnID == e.TurnID && it.Status.Open() && m.Stale(it.Lineage, it.CreatedSeq) {
			c.errorf(e, "item %s is still %s", it.ItemID, it.Status)
		}
	}
	if b.Step == "" {
		if prev := c.turns[e.TurnID]; prev.State == turns.Queued || prev.State == turns.Completed && !prev.WasReviewed() || prev.ContinuedBy != "" {
			c.errorf(e, "the turn is %s", prev.State)
		}
		c.turns[e.TurnID] = turns.Apply(c.turns[e.TurnID], e.header(), b)
	}
}

// late checks a turn/late: there is a marker on the attempt, or below it.
func (c *checker) late(e event, b *turns.LateEvent) {
	c.t.Helper()
	key := try{path{e.TurnID, ""}, e.Attempt}
	row := c.tries[key]
	if row == nil || b.Event.Method == "" || len(b.Event.Params) == 0 {
		c.errorf(e, "of no attempt")
		return
	}
	if row.HiddenBy == 0 && b.Step == "" {
		c.errorf(e, "the attempt is live")
	}
	c.tries[key] = turns.ApplyStep(row, e.header(), b)
}

// unflag checks whether a read shows an item as live, and removes that flag: the
// fold of the item's own events does not have it.
func (c *checker) unflag(it *items.Item) bool {
	by := int64(0)
	if n := len(it.Lineage); n > 0 {
		by = c.tries[tryOf(it.TurnID, it.Lineage[n-1])].HiddenBy
	}
	if it.Superseded != (by != 0) || it.SupersededBySeq != by {
		c.t.Errorf("item %s is superseded %v by %d, not %d", it.ItemID, it.Superseded, it.SupersededBySeq, by)
	}
	return false
}

// steps compares the rows of tries with the fold.
func (c *checker) steps(reader *sqlite.Reader) {
	c.t.Helper()
	n := 0
	for id := range c.turns {
		pages(c.t, func(cursor string) (string, error) {
			l, err := reader.ListSteps(bg, turns.StepQuery{TurnID: id, Cursor: cursor, Limit: 1000, IncludeSuperseded: true})
			for i := range l.Rows {
				n++
				row := &l.Rows[i]
				want := *c.tries[try{path{id, row.Step}, row.Epoch}]
				row.HiddenAfter, want.HiddenAfter = 0, 0
				same(c.t, "step", row, &want)
			}
			return l.Next, err
		})
	}
	if n != len(c.tries) {
		c.t.Errorf("%d rows of steps, the log makes %d", n, len(c.tries))
	}
}
