package api

// Handlers execute methods. A handler holds no JSON and no HTTP: the registry
// decodes, checks required members, maps errors and encodes.
type Handlers struct{ api *API }

// methods is the one table of methods, in the order of the documentation.
func (h *Handlers) methods() []Method {
	return []Method{
		define("initialize", "Returns who the server is, what it can do and all its limits. Optional, once per connection.", h.Initialize, ofServer),
		define("holon/status", "Returns what the server is doing and the position of its log.", h.HolonStatus, ofServer, quick),
		define("holon/pause", "Pauses the runtime: turns are accepted and queued, running ones continue, none starts. The pause survives a restart; with timeout_seconds it ends by itself.", h.HolonPause, ofServer),
		define("holon/resume", "Ends the pause of the runtime.", h.HolonResume, ofServer),
		define("holon/logStream", "Returns lines of the server's own log: the newest, or those from a position on. With follow, further lines come as holon/log on this connection.", h.HolonLogStream, ofServer, quick),
		define("holon/logStream/stop", "Ends a holon/logStream with follow.", h.HolonLogStreamStop, ofServer, quick),
		defineSteps("holon/prune", "Removes the events before a seq from the log, never past text of an open item that only the log has. Rows of threads, turns and items stay.", h.HolonPrune, ofServer),
		define("agent/list", "Lists the agents that threads can have, the default one first, with what each is, can do and is doing. What an agent can do is known once it has been started.", h.AgentList, ofServer),
		define("thread/start", "Starts a thread, or finds the open one of this id.", h.ThreadStart, ofThread),
		define("thread/pause", "Pauses a thread: no further turn of it starts; the active one continues.", h.ThreadPause, ofThread),
		define("thread/resume", "Ends the pause of a thread.", h.ThreadResume, ofThread),
		defineWaiting("thread/close", "Closes a thread: interrupts its active turn and its queue. thread/closed is its last event.", InterruptWait, h.ThreadClose, ofThread),
		defineAsking("thread/configure", "Changes settings of a thread's agent by name: mode, model and others.", h.ThreadConfigure, ofThread),
		defineAsking("thread/fork", "Starts a thread whose agent continues the conversation of this one, from the end of its newest turn.", h.ThreadFork, ofThread),
		define("thread/list", "Lists threads, the oldest first; with order desc, the newest first.", h.ThreadList, ofLog),
		define("thread/read", "Returns one thread and, with include_turns, its newest 20 turns, newest first.", h.ThreadRead, ofThread),
		define("turn/start", "Starts a turn, or queues it behind the active one; on_busy can choose something else.", h.TurnStart, ofThread),
		define("turn/steer", "Adds text to an active turn: into the running agent, or as its next prompt before the turn ends.", h.TurnSteer, ofTurn),
		defineWaiting("turn/interrupt", "Ends a queued or active turn. Once the request is accepted, the turn ends with turn/interrupted, whatever the agent says.", InterruptWait, h.TurnInterrupt, ofTurn),
		define("turn/retry", "Retries a turn that has failed or was interrupted: at once, or at the end of the queue if the thread is busy.", h.TurnRetry, ofTurn),
		define("turn/read", "Returns one turn and, with include_items, the first page of its items.", h.TurnRead, ofTurn),
		define("turn/list", "Lists turns, the oldest first; with order desc, the newest first.", h.TurnList, ofLog),
		define("item/list", "Lists items, the oldest first; with order desc, the newest first. With status pending: every open question.", h.ItemList, ofLog),
		define("item/read", "Returns one item; an open one with its text so far.", h.ItemRead, ofItem),
		define("item/respond", "Answers a permission_request or a question. The first answer wins.", h.ItemRespond, ofItem),
		definePolling("turn/claim", "Claims the next turn of an agent of kind worker, and waits for one up to wait_seconds. The worker sends the lease with every request about the turn.", h.TurnClaim, ofLog),
		define("turn/renew", "Renews a lease for another period, and returns the interrupt and the steers that were requested meanwhile.", h.TurnRenew, ofTurn),
		define("step/start", "Begins a try of a step of a leased turn. It supersedes an earlier try of the step.", h.StepStart, ofTurn),
		define("step/end", "Ends a try of a step of a leased turn, and of the steps below it.", h.StepEnd, ofTurn),
		define("item/create", "Creates an item of a leased turn.", h.ItemCreate, ofTurn),
		define("item/append", "Adds text to an open item of a leased turn.", h.ItemAppend, ofTurn),
		define("item/update", "Changes or ends an open item of a leased turn.", h.ItemUpdate, ofTurn),
		define("item/delete", "Withdraws an item of a leased turn.", h.ItemDelete, ofTurn),
		define("item/batch", "Does several of item/create, append, update and delete in one transaction: all of them or none.", h.ItemBatch, ofTurn),
		define("turn/complete", "Ends a leased turn successfully.", h.TurnComplete, ofTurn),
		define("turn/fail", "Ends the attempt of a lease as failed. If the failure is transient, the turn's policy may retry the turn.", h.TurnFail, ofTurn),
		define("event/list", "Lists events of the log after a seq.", h.EventList, ofLog),
		define("stream/subscribe", "Replaces the subscription of this connection. The answer comes before its first event.", h.StreamSubscribe, ofLog, bound),
		define("stream/unsubscribe", "Ends the subscription of this connection.", h.StreamUnsubscribe, ofLog, bound, quick),
		define("rpc.discover", "Returns the OpenRPC document of this protocol.", h.RPCDiscover, ofServer),
	}
}
