package turns

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/items"
)

// RewindEvent is the body of stream/rewind, the marker: an event of the turn is
// superseded if it belongs to the step in an epoch below NewEpoch and its seq is
// above SupersededAfterSeq (package fold has the rule). The header has no
// lineage and no attempt.
//
// SupersededAfterSeq is the seq before the first event of the step's first try.
// It is the same in every marker of a step, so a marker supersedes a try wholly
// or not at all. The first try must have begun in an earlier unit: the bound is
// a real seq.
//
// A marker of the turn itself (Step "") begins a new attempt. Rank is then the
// turn's rank in the queue if the turn had ended. UsedMs is the part of the
// timeout that has been used, Usage what the superseded attempt has used. Uncounted says
// that the superseded attempt does not count against max_attempts, because the server was
// stopped in order or the attempt waited for a person. SilentRestarts is how many restarts
// in a row, this one included, have ended attempts in which the agent said nothing.
type RewindEvent struct {
	Type               string       `json:"type"`
	Step               string       `json:"step"`
	NewEpoch           int          `json:"new_epoch"`
	SupersededAfterSeq int64        `json:"superseded_after_seq"`
	Reason             Cause        `json:"reason"`
	Message            string       `json:"message,omitzero"` // the reason, for people
	Rank               int64        `json:"rank,omitzero"`
	UsedMs             int64        `json:"used_ms,omitzero"`
	Usage              *items.Usage `json:"usage,omitzero"`
	Uncounted          bool         `json:"uncounted,omitzero"`
	SilentRestarts     int          `json:"silent_restarts,omitzero"`
	RequestedBy        string       `json:"requested_by,omitzero"` // the named token that asked for the retry; "" = none
}

// LateEvent is the body of turn/late: what a try wrote after it had been given
// up. The header has the attempt and no lineage. Step and Epoch are those of the
// try that wrote; Epoch is 0 if the attempt had no try of the step.
type LateEvent struct {
	Type  string    `json:"type"`
	Step  string    `json:"step"`
	Epoch int       `json:"epoch"`
	Event LateInner `json:"event"`
}

// LateInner is the event that a LateEvent keeps. Params are without what the log
// adds: seq, thread_seq, the ids and the lineage. The turn/late itself has these.
type LateInner struct {
	Method string         `json:"method"`
	Params jsontext.Value `json:"params"`
}
