package turns

// Every result of a command has the seq of its change. It is known only once the
// change is committed. With a repeated idempotency key it is the seq of the first
// response.

// SetSeq sets the seq of the response.
func (r *ChangeThreadResult) SetSeq(seq int64) { r.Seq = seq }

// SetSeq sets the seq of the response.
func (r *ClaimResult) SetSeq(seq int64) { r.Seq = seq }

// SetSeq sets the seq of the response.
func (r *ConfigureResult) SetSeq(seq int64) { r.Seq = seq }

// SetSeq sets the seq of the response.
func (r *DetachResult) SetSeq(seq int64) { r.Seq = seq }

// SetSeq sets the seq of the response.
func (r *EndStepResult) SetSeq(seq int64) { r.Seq = seq }

// SetSeq sets the seq of the response.
func (r *EndTurnResult) SetSeq(seq int64) { r.Seq = seq }

// SetSeq sets the seq of the response.
func (r *ForkResult) SetSeq(seq int64) { r.Seq = seq }

// SetSeq sets the seq of the response.
func (r *InterruptResult) SetSeq(seq int64) { r.Seq = seq }

// SetSeq sets the seq of the response.
func (r *PauseResult) SetSeq(seq int64) { r.Seq = seq }

// SetSeq sets the seq of the response.
func (r *RenameThreadResult) SetSeq(seq int64) { r.Seq = seq }

// SetSeq sets the seq of the response.
func (r *RenewResult) SetSeq(seq int64) { r.Seq = seq }

// SetSeq sets the seq of the response.
func (r *RespondResult) SetSeq(seq int64) { r.Seq = seq }

// SetSeq sets the seq of the response.
func (r *RetryResult) SetSeq(seq int64) { r.Seq = seq }

// SetSeq sets the seq of the response.
func (r *StartResult) SetSeq(seq int64) { r.Seq = seq }

// SetSeq sets the seq of the response.
func (r *StartStepResult) SetSeq(seq int64) { r.Seq = seq }

// SetSeq sets the seq of the response.
func (r *StartThreadResult) SetSeq(seq int64) { r.Seq = seq }

// SetSeq sets the seq of the response.
func (r *SteerResult) SetSeq(seq int64) { r.Seq = seq }

// SetSeq sets the seq of the response.
func (r *WriteItemsResult) SetSeq(seq int64) { r.Seq = seq }

// SetSeq sets the seq of the response.
func (r *PruneResult) SetSeq(seq int64) { r.Seq = seq }
