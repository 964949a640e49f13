package api

import (
	"context"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/turns"
)

// Engine is what handlers change state through; *engine.Engine implements it. A
// change that returns without an error is durable (I1).
type Engine interface {
	StartThread(ctx context.Context, c turns.StartThread) (turns.StartThreadResult, error)
	ThreadConfigure(ctx context.Context, c turns.Configure) (turns.ConfigureResult, error)
	ThreadRename(ctx context.Context, c turns.RenameThread) (turns.RenameThreadResult, error)
	ThreadFork(ctx context.Context, c turns.Fork) (turns.ForkResult, error)
	ChangeThread(ctx context.Context, c turns.ChangeThread) (turns.ChangeThreadResult, error)
	// CloseThread returns once the close is durable. If a turn has to end
	// first, closed delivers the final result once it has ended. closed is nil
	// if the first result is final.
	CloseThread(ctx context.Context, c turns.CloseThread) (result turns.ChangeThreadResult, closed <-chan turns.ChangeThreadResult, err error)
	Start(ctx context.Context, c turns.Start) (turns.StartResult, error)
	Retry(ctx context.Context, c turns.Retry) (turns.RetryResult, error)
	Review(ctx context.Context, c turns.ReviewTurn) (turns.ReviewTurnResult, error)
	Steer(ctx context.Context, c turns.Steer) (turns.SteerResult, error)
	// Interrupt returns once the interrupt is durable. If the turn has not
	// ended by then, ended delivers the final result when it does. ended is nil
	// if result is final.
	Interrupt(ctx context.Context, c turns.Interrupt) (result turns.InterruptResult, ended <-chan turns.InterruptResult, err error)
	Respond(ctx context.Context, c turns.Respond) (turns.RespondResult, error)
	Pause(ctx context.Context, c turns.Pause) (turns.PauseResult, error)
	Resume(ctx context.Context, c turns.Resume) (turns.PauseResult, error)
	State() string // running, paused, draining
	Runtime() turns.Runtime
	Agents() []turns.AgentInfo
}

// Children is what waits for turns, and changes how they are waited for;
// *engine.Children implements it.
type Children interface {
	// StartAndWait is Engine.Start for a request with wait_seconds; caller is as in
	// Await. wait, which must be called once, waits for the end of the turn; its sent
	// is that of Await. It is nil if too many requests wait already.
	StartAndWait(ctx context.Context, c turns.Start, caller string) (r turns.StartResult, wait func(ctx context.Context) (turns.StartResult, func(ok bool), error), err error)
	Detach(ctx context.Context, c turns.DetachTurn) (turns.DetachResult, error)
	// Await waits as long as c says, or until ctx is done. If sent is not nil, it must
	// be called once: ok says that the answer was written. caller is the thread whose
	// agent asks; "" = none.
	Await(ctx context.Context, c turns.Await, caller string) (r turns.AwaitResult, sent func(ok bool), err error)
}

// Workers is what the methods of workers change state through; *engine.Workers
// implements it. An error that wraps turns.ErrSuperseded may belong to a write
// that was kept as a turn/late.
type Workers interface {
	// Claim waits as long as c says, or until ctx ends.
	Claim(ctx context.Context, c turns.Claim) (turns.ClaimResult, error)
	Renew(ctx context.Context, c turns.Renew) (turns.RenewResult, error)
	StepStart(ctx context.Context, c turns.StartStep) (turns.StartStepResult, error)
	StepEnd(ctx context.Context, c turns.EndStep) (turns.EndStepResult, error)
	WriteItems(ctx context.Context, c turns.WriteItems) (turns.WriteItemsResult, error)
	Complete(ctx context.Context, c turns.CompleteTurn) (turns.EndTurnResult, error)
	Fail(ctx context.Context, c turns.FailTurn) (turns.EndTurnResult, error)
}

// Inboxes is what the methods of inboxes and timers change state through;
// *engine.Inboxes implements it. It is called with commands that were checked
// (Check of the command). Errors are those of package inbox, threads.ErrNotFound
// and threads.ErrClosed.
type Inboxes interface {
	Ingest(ctx context.Context, c inbox.Ingest) (inbox.IngestResult, error)
	Send(ctx context.Context, c inbox.Send) (inbox.SendResult, error)
	Configure(ctx context.Context, c inbox.Configure) (inbox.ConfigureResult, error)
	Ack(ctx context.Context, c inbox.Ack) (inbox.AckResult, error)
	Flush(ctx context.Context, c inbox.FlushNow) (inbox.EntriesResult, error)
	Wake(ctx context.Context, c inbox.WakeNow) (inbox.EntriesResult, error)
	Subscribe(ctx context.Context, c inbox.Subscribe) (inbox.SubscribeResult, error)
	Unsubscribe(ctx context.Context, c inbox.Unsubscribe) (inbox.UnsubscribeResult, error)
	CreateTimer(ctx context.Context, c inbox.CreateTimer) (inbox.TimerResult, error)
	DeleteTimer(ctx context.Context, c inbox.DeleteTimer) (inbox.DeleteTimerResult, error)
	// Policy is the policy in force in an inbox whose thread has this agent and
	// where clients have set these members.
	Policy(agent string, set inbox.Policy) inbox.Policy
	// PolicySet is what of that policy was set, and where.
	PolicySet(agent string, set inbox.Policy) inbox.PolicySet
	// Activity is what a subscription has done since the server started; zero if
	// there is no such subscription.
	Activity(threadID, subscriptionID string) inbox.Activity
}

// Sources are the configured sources of inboxes.
type Sources interface {
	// Has reports whether a source of this name is configured.
	Has(name string) bool
	// CheckFilter checks the filter of a subscription. The error is a
	// *turns.InvalidError.
	CheckFilter(expression string) error
}

// Pruner removes a prefix of the log.
type Pruner interface {
	// Prune removes the events before the seq, but never the text of an open
	// item that only the log has. It keeps the result under the key; nil:
	// nowhere. It works in small steps and stops between two of them when ctx
	// ends. Events removed by then stay removed, the result says how far it
	// came, and the key is not used.
	Prune(ctx context.Context, before int64, key *ledger.Key) (turns.PruneResult, error)
}
