package turns

import "github.com/seed82539d15/holon/notify"

// ListStatus is what a person looks for among threads. Every thread has one of them: of
// several that apply, closed counts before needs_you, then working, failed, done.
type ListStatus string

// The statuses by which thread/list selects.
const (
	ListNeedsYou ListStatus = "needs_you" // a question is open, or an end waits for a review
	ListWorking  ListStatus = "working"   // a turn is active or queued
	ListFailed   ListStatus = "failed"    // the newest turn that ended has failed, or its review has refused its end
	ListDone     ListStatus = "done"      // open, and nothing of the others
	ListClosed   ListStatus = "closed"    // also while it is closing
)

// ListStatuses lists them.
var ListStatuses = []ListStatus{ListNeedsYou, ListWorking, ListFailed, ListDone, ListClosed}

// StatusCounts says how many threads have each status: threads at the top, and those
// below others that need somebody. Mailboxes are not counted.
type StatusCounts struct {
	NeedsYou int `json:"needs_you"`
	Working  int `json:"working"`
	Failed   int `json:"failed"`
	Done     int `json:"done"`
	Closed   int `json:"closed"`
	// WaitingSince is since when the thread that has waited longest needs somebody.
	WaitingSince notify.Time `json:"waiting_since,omitzero"`
	// AtLeast says that there may be more of each: MaxListScan rows were looked at.
	AtLeast bool `json:"at_least,omitzero"`
}
