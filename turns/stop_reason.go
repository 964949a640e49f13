package turns

import "github.com/seed82539d15/holon/internal/sanitize"

// plainStops are the stop reasons of a turn whose agent came to its own end. Agents
// choose their words: end_turn is that of the Agent Client Protocol, stop and
// stop_sequence are those of models.
var plainStops = map[string]bool{"": true, "end_turn": true, "completed": true, "stop": true, "stop_sequence": true}

// StopsEarly reports whether a completed turn with this stop reason was cut short: the
// model refused, failed, or ran out of tokens or steps (refusal, error, max_tokens,
// max_turn_requests). A reason that is not known counts too, because nothing says that
// the work is done.
func StopsEarly(reason string) bool { return !plainStops[reason] }

// StoppedEarly reports whether the turn has completed without coming to its own end.
func (t *Turn) StoppedEarly() bool { return t.State == Completed && StopsEarly(t.StopReason) }

// StoppedEarly reports whether the turn has completed without coming to its own end. Its
// end may wait for a review.
func (r *Result) StoppedEarly() bool {
	return (r.State == Completed || r.State == InReview && r.Error == nil) && StopsEarly(r.StopReason)
}

// EarlyStop describes in words how a turn ended that stopped early.
func EarlyStop(reason string) string {
	return "stopped early (" + sanitize.Line(reason, maxStopReason) + ")"
}

// maxStopReason is how much of a stop reason is told, in characters: agents choose it.
const maxStopReason = 64
