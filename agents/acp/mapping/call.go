package mapping

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/items"
)

// maxCalls is how many tool calls of a session are remembered; the oldest ended
// one is forgotten first.
const maxCalls = 512

// call is what the agent has reported about a tool call so far.
type call struct {
	id, title, name, server string
	toolKind                string // the agent's word, "" = unknown
	status                  items.Status
	input, output           jsontext.Value
	content                 blocks
	locations               []items.Location
	cwd, line               string // of a command, as its terminal says
	exit                    *int
	signal                  string
	terminals               []string    // terminals that show the call's output
	stream                  *items.Text // output that came in pieces; nil = none
	fresh                   string      // of stream, not emitted yet
	cut                     []byte      // of stream, half a character
	rewrite                 bool        // stream has started again
	raw                     rawList

	named, first string   // see identify: the tool's name and the title, as they came first
	mcp          *mcpTool // likewise; nil = the agent has not said that it is one

	kind    items.Kind // of its item, decided at the first update
	item    string     // the item that is open for it, "" = none
	refused bool       // a person has refused it
	left    bool       // its prompt has ended, so its item has ended or is about to
	shown   *shown     // the content of its latest item; nil = there was none
}

// shown is what the log has of a call, for comparison.
type shown struct {
	status   items.Status
	body     string // content without the growing text and raw
	text     string // the growing text, unless it is streamed
	streamed bool
}

func (n *shown) same(o *shown) bool { return *n == *o }

// calls maps the tool calls of a session.
type calls struct {
	out      *output
	messages *messages // the open message may end where a call begins
	cwd      string    // Options.Cwd
	byID     map[string]*call
	order    []*call // oldest first
}

func (l *calls) remove(c *call) {
	delete(l.byID, c.id)
	for i, o := range l.order {
		if o == c {
			l.order = append(l.order[:i], l.order[i+1:]...)
			return
		}
	}
}

func (c *call) over() bool { return c.left || !c.status.Open() }

// update maps a tool_call (begins), or an update of one. Its item is made at
// the first tool_call, tool_call_update or permission request of the call.
func (l *calls) update(f fields, raw jsontext.Value, begins bool) bool {
	id := f.text("toolCallId")
	if id == "" {
		return false
	}
	c := l.of(id, begins)
	whole := l.merge(c, f)
	l.emit(c, raw)
	return whole
}

// of finds the call, or makes it. begins says that the agent begins a call.
// Then an ended call of this id is a different call, because some agents
// restart the ids of their calls in each prompt.
func (l *calls) of(id string, begins bool) *call {
	c := l.byID[id]
	if c != nil && begins && c.over() {
		l.remove(c)
		c = nil
	}
	if c == nil {
		l.messages.beside()
		l.makeRoom()
		c = &call{id: id, status: items.StatusInProgress}
		l.byID[id] = c
		l.order = append(l.order, c)
	}
	return c
}

// makeRoom forgets a call if there are maxCalls.
func (l *calls) makeRoom() {
	if len(l.order) < maxCalls {
		return
	}
	oldest := l.order[0]
	for _, c := range l.order {
		if c.over() {
			oldest = c
			break
		}
	}
	l.giveUp(oldest)
	l.remove(oldest)
}

// giveUp ends the item of a call that gets no more updates. A call without an
// item gets one now.
func (l *calls) giveUp(c *call) {
	switch {
	case c.item != "":
		l.out.emit(items.Update{ItemID: c.item, Status: items.StatusInterrupted})
		c.item, c.left = "", true
	case c.shown == nil && c.kind != "":
		c.status = items.StatusInterrupted
		l.emit(c, nil)
	}
}

// promptBegins releases what was collected outside of a turn: the calls
// continue inside one, with new items.
func (l *calls) promptBegins() {
	for _, c := range l.order {
		c.release()
	}
}

// end ends the items of all calls: no more updates come.
func (l *calls) end() {
	for _, c := range l.order {
		l.giveUp(c)
	}
}

// promptEnded leaves all calls.
func (l *calls) promptEnded() {
	for _, c := range l.order {
		l.leave(c)
	}
}

// commandRuns reports whether a command has not ended.
func (l *calls) commandRuns() bool {
	for _, c := range l.order {
		if c.kind == items.KindCommandExecution && c.item != "" {
			return true
		}
	}
	return false
}

// leave lets the engine end the item of a call. A refused one ends here,
// because some agents (gemini-cli) send no further update of it.
func (l *calls) leave(c *call) {
	if c.item == "" {
		return
	}
	switch {
	case c.refused:
		c.status = items.StatusFailed
		l.emit(c, nil)
	case l.out.keepRaw:
		l.out.emit(items.Update{ItemID: c.item, Content: c.whole(l.cwd)})
	}
	c.item, c.left = "", true
}

// emit updates the item of the call to the call's present state. An ended item
// cannot change: later updates of the call make another item.
func (l *calls) emit(c *call, raw jsontext.Value) {
	if l.out.keepRaw && raw != nil {
		c.raw.add(raw)
	}
	if c.kind == "" {
		c.kind = c.kindOfItem()
	}
	now := c.show(l.cwd)
	defer func() { c.fresh, c.rewrite = "", false }()
	if c.item == "" {
		if c.shown == nil || !now.same(c.shown) || c.fresh != "" || c.rewrite {
			l.begin(c, now)
		}
		return
	}
	was := c.shown
	added, grows := c.fresh, was.streamed || was.text == ""
	if !now.streamed {
		added, grows = strings.CutPrefix(now.text, was.text)
		grows = grows && !was.streamed
	}
	grows = grows && !c.rewrite
	update := items.Update{ItemID: c.item}
	if !now.status.Open() {
		update.Status = now.status
	}
	switch {
	case now.body != was.body || !grows:
		update.Content = c.whole(l.cwd)
	default:
		if added != "" {
			l.out.emit(items.Append{ItemID: c.item, Text: added})
		}
		if update.Status != "" && l.out.keepRaw {
			update.Content = c.whole(l.cwd)
		}
	}
	if update.Status != "" || update.Content != nil {
		l.out.emit(update)
	}
	c.shown = &now
	if update.Status != "" {
		c.item = ""
	}
}

// begin makes an item for the call.
func (l *calls) begin(c *call, now shown) {
	id := items.NewID()
	create := items.Create{ItemID: id, Content: c.whole(l.cwd)}
	if !now.status.Open() {
		create.Status = now.status
	} else {
		c.item = id
	}
	c.left, c.shown = false, &now
	l.out.emit(create)
}

// show returns the present state of an item of the call.
func (c *call) show(cwd string) shown {
	body, _ := items.Encode(items.WithText(c.as(cwd), "")) // the content was decoded before, so it encodes
	now := shown{status: c.ending(), body: string(body), streamed: c.streams()}
	if !now.streamed && c.kind.Streams() {
		now.text = c.text()
	}
	return now
}

// ending returns the status of the call's item.
func (c *call) ending() items.Status {
	if c.refused && c.status == items.StatusFailed {
		return items.StatusDeclined
	}
	return c.status
}

// whole returns the content of an item of the call, with its text and raw.
func (c *call) whole(cwd string) items.Content {
	content := c.as(cwd)
	if c.streams() {
		content = items.WithText(content, c.stream.String())
	} else if c.kind.Streams() {
		content = items.WithText(content, c.text())
	}
	return withRaw(content, c.raw.list())
}

// streams reports whether the growing text is the output that came in pieces.
// It is for commands; for other tools only as long as they send no whole text.
func (c *call) streams() bool {
	return c.stream != nil && (c.kind == items.KindCommandExecution || c.kind == items.KindToolCall && c.content.text == "")
}

// release releases an item that was collected outside of a turn: the call
// continues inside one, with a new item.
func (c *call) release() {
	if c.item != "" {
		c.item, c.shown = "", nil
	}
}
