package inbox

import "github.com/seed82539d15/holon/notify"

// Every result of a command has the seq of its change, and ids that are known
// only once it is committed: see ledger.Result.

// SetSeq sets the seq of the response.
func (r *IngestResult) SetSeq(seq int64)      { r.Seq = seq }
func (r *SendResult) SetSeq(seq int64)        { r.Seq = seq }
func (r *ConfigureResult) SetSeq(seq int64)   { r.Seq = seq }
func (r *AckResult) SetSeq(seq int64)         { r.Seq = seq }
func (r *EntriesResult) SetSeq(seq int64)     { r.Seq = seq }
func (r *SubscribeResult) SetSeq(seq int64)   { r.Seq = seq }
func (r *UnsubscribeResult) SetSeq(seq int64) { r.Seq = seq }
func (r *TimerResult) SetSeq(seq int64)       { r.Seq = seq }
func (r *DeleteTimerResult) SetSeq(seq int64) { r.Seq = seq }

// AssignSeqs makes the real ids of provisional ones.
func (r *IngestResult) AssignSeqs(first int64) {
	for i := range r.Results {
		r.Results[i].AssignSeqs(first)
	}
}

// AssignSeqs makes the real ids of provisional ones.
func (r *Ingested) AssignSeqs(first int64) {
	for _, id := range []*notify.ID{&r.RawID, &r.EntryID, &r.DigestID} {
		*id = id.AssignSeq(first)
	}
}

// AssignSeqs makes the real ids of provisional ones.
func (r *AckResult) AssignSeqs(first int64) { notify.AssignIDs(r.RemainderEntryIDs, first) }

// AssignSeqs makes the real ids of provisional ones.
func (r *EntriesResult) AssignSeqs(first int64) { notify.AssignIDs(r.EntryIDs, first) }
