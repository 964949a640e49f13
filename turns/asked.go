package turns

import (
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/question"
	"github.com/seed82539d15/holon/threads"
)

// AskedOf reads what a question in a thread is about, and where: its own title is often only a
// path. Whoever shows the question takes its words from question.Phrase or question.Of, so that
// everybody reads the same. A thread that is nil has no directory. An item that is gone, or in
// another thread, says nothing; nor does a row that cannot be decoded. The error is one of reading.
func AskedOf(r ledger.Reader, th *threads.Thread, content []byte) (question.Asked, error) {
	asked := question.Asked{Content: content}
	if th == nil {
		return asked, nil
	}
	asked.Cwd = th.Cwd
	c, err := items.Decode(content)
	p, ok := c.(items.PermissionRequest)
	if err != nil || !ok || p.Subject.ItemID == "" {
		return asked, nil
	}
	v, err := r.Get(items.ByID, p.Subject.ItemID)
	if v == nil || err != nil {
		return asked, err
	}
	if about := items.Read(v); about.ThreadID == th.ThreadID {
		asked.Subject = []byte(about.Content)
	}
	return asked, nil
}

// AskedIn works like AskedOf, for a thread of which only the id is known.
func AskedIn(r ledger.Reader, threadID string, content []byte) (question.Asked, error) {
	v, err := r.Get(threads.ByID, threadID)
	if v == nil || err != nil {
		return question.Asked{Content: content}, err
	}
	th, err := threads.Read(v)
	if err != nil { // whoever delivers the question would try for good
		th = nil
	}
	return AskedOf(r, th, content)
}
