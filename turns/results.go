package turns

// Every result of a command has the seq of its change, which is known only once
// that is committed, or is that of the first answer to an idempotency key.

// SetSeq sets the seq of the answer.
func (r *ChangeThreadResult) SetSeq(seq int64) { r.Seq = seq }

// SetSeq sets the seq of the answer.
func (r *ClaimResult) SetSeq(seq int64) { r.Seq = seq }

// SetSeq sets the seq of the answer.
func (r *ConfigureResult) SetSeq(seq int64) { r.Seq = seq }

// SetSeq sets the seq of the answer.
func (r *EndStepResult) SetSeq(seq int64) { r.Seq = seq }

// SetSeq sets the seq of the answer.
func (r *EndTurnResult) SetSeq(seq int64) { r.Seq = seq }

// SetSeq sets the seq of the answer.
func (r *ForkResult) SetSeq(seq int64) { r.Seq = seq }

// SetSeq sets the seq of the answer.
func (r *InterruptResult) SetSeq(seq int64) { r.Seq = seq }

// SetSeq sets the seq of the answer.
func (r *PauseResult) SetSeq(seq int64) { r.Seq = seq }

// SetSeq sets the seq of the answer.
func (r *RenewResult) SetSeq(seq int64) { r.Seq = seq }

// SetSeq sets the seq of the answer.
func (r *RespondResult) SetSeq(seq int64) { r.Seq = seq }

// SetSeq sets the seq of the answer.
func (r *RetryResult) SetSeq(seq int64) { r.Seq = seq }

// SetSeq sets the seq of the answer.
func (r *StartResult) SetSeq(seq int64) { r.Seq = seq }

// SetSeq sets the seq of the answer.
func (r *StartStepResult) SetSeq(seq int64) { r.Seq = seq }

// SetSeq sets the seq of the answer.
func (r *StartThreadResult) SetSeq(seq int64) { r.Seq = seq }

// SetSeq sets the seq of the answer.
func (r *SteerResult) SetSeq(seq int64) { r.Seq = seq }

// SetSeq sets the seq of the answer.
func (r *WriteItemsResult) SetSeq(seq int64) { r.Seq = seq }

// SetSeq sets the seq of the answer.
func (r *PruneResult) SetSeq(seq int64) { r.Seq = seq }
