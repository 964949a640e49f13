package dashboard

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/conversation"
	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

// maxTrail bounds how many threads one can go back through, each opened from the one
// before: children are at most a few levels deep.
const maxTrail = 32

// open shows the conversation of a thread. One that is opened from another leads back to
// that.
func (p *program) open(now time.Time, id string) tea.Cmd {
	trail := p.trail
	if from, ok := p.page.(*conversation.Model); ok && from.Thread() != id {
		trail = append(trail, from.Thread())
	}
	_, away := p.page.(*conversation.Model)
	return p.show(now, id, trail[max(0, len(trail)-maxTrail):], !away)
}

// show shows the conversation of a thread. trail are the threads that lead back. write says
// that keys are text for the agent, if the thread takes some: whoever opens a thread to
// write begins to type, and letters that are commands would interrupt it or answer it.
func (p *program) show(now time.Time, id string, trail []string, write bool) tea.Cmd {
	left := p.overviewShown(now)
	known, _ := p.overview.Thread(id) // a child may not be in the list
	page := conversation.New(conversation.Options{
		Thread: id, Title: known.Summary.Title, Styles: p.styles, Colour: colourOf(p.o.Environ), Drafts: &p.drafts,
		Write: write && (known.State == "running" || known.State == "paused"),
	})
	p.page, p.trail = page, trail
	actions := p.update(now, page, tea.WindowSizeMsg{Width: p.width, Height: p.room()})
	return tea.Batch(left, p.carryOut(now, page, append(actions, p.update(now, page, conversation.Begin{})...)))
}

// back leaves a conversation: to the one from which it was opened, else to the overview.
func (p *program) back(now time.Time) tea.Cmd {
	if n := len(p.trail); n > 0 {
		return p.show(now, p.trail[n-1], p.trail[:n-1], false)
	}
	return p.overviewShown(now)
}

// overviewShown shows the overview, and follows no thread. What could be undone on the
// page that is left is sent.
func (p *program) overviewShown(now time.Time) tea.Cmd {
	p.follows()
	p.follows = func() {}
	page := p.page
	p.page, p.trail, p.dirty = p.overview, nil, true
	return p.carryOut(now, page, pending(page))
}

// pending returns what the person has asked for on a page and can undo as long as it is shown.
func pending(page screen.Page) []screen.Action {
	if page, ok := page.(*conversation.Model); ok {
		return page.Pending()
	}
	return nil
}

// taken notes that the server has a text: it is no draft any more, also if its page was
// left meanwhile.
func (p *program) taken(action screen.Action) {
	switch a := action.(type) {
	case screen.Start:
		p.drafts.Sent(a.Text)
	case screen.Steer:
		p.drafts.Sent(a.Text)
	}
}
