package api

// Handlers execute methods. A handler holds no JSON and no HTTP: the registry
// decodes, checks required members, maps errors and encodes.
type Handlers struct{ api *API }

// methods is the one table of methods, in the order of the documentation.
func (h *Handlers) methods() []Method {
	return []Method{
		define("initialize", "Says hello: who the server is, what it can do and every bound it has. Optional, once per connection.", h.Initialize, ofServer),
		define("holon/status", "What the server is doing and where its log stands.", h.HolonStatus, ofServer, quick),
		define("holon/pause", "Pauses the runtime: turns are accepted and queued, running ones go on, none starts. Survives a restart; with timeout_seconds it ends by itself.", h.HolonPause, ofServer),
		define("holon/resume", "Ends the pause of the runtime.", h.HolonResume, ofServer),
		define("holon/logStream", "Lines of the server's own log: the newest, or those from a position on. With follow, further lines come as holon/log on this connection.", h.HolonLogStream, ofServer, quick),
		define("holon/logStream/stop", "Ends a holon/logStream with follow.", h.HolonLogStreamStop, ofServer, quick),
		defineSteps("holon/prune", "Removes the events before a seq from the log, never past text of an open item that only the log has. Rows of threads, turns and items stay.", h.HolonPrune, ofServer),
		define("agent/list", "The agents that threads can have, the default one first: what each is, can and does. What an agent can do is known once it has been started.", h.AgentList, ofServer),
		define("thread/start", "Starts a thread, or finds the open one of this id.", h.ThreadStart, ofThread),
		define("thread/pause", "No further turn of the thread starts; the active one goes on.", h.ThreadPause, ofThread),
		define("thread/resume", "Ends the pause of a thread.", h.ThreadResume, ofThread),
		defineWaiting("thread/close", "Closes a thread: interrupts its active turn and its queue. thread/closed is its last event.", InterruptWait, h.ThreadClose, ofThread),
		defineAsking("thread/configure", "Changes settings of a thread that its agent has: mode, model and others, by name.", h.ThreadConfigure, ofThread),
		defineAsking("thread/fork", "Starts a thread whose agent goes on from the conversation of this one, as it stands after its newest turn.", h.ThreadFork, ofThread),
		define("thread/list", "Threads in the order of their starting; order desc, the newest first.", h.ThreadList, ofLog),
		define("thread/read", "One thread and, with include_turns, its newest 20 turns, newest first.", h.ThreadRead, ofThread),
		define("turn/start", "Starts a turn, or queues it behind the active one; on_busy chooses otherwise.", h.TurnStart, ofThread),
		define("turn/steer", "Adds text to an active turn: into the running agent, or as its next prompt before the turn ends.", h.TurnSteer, ofTurn),
		defineWaiting("turn/interrupt", "Ends a queued or active turn. Once accepted it ends turn/interrupted, whatever the agent says.", InterruptWait, h.TurnInterrupt, ofTurn),
		define("turn/retry", "Tries a turn again that has failed or was interrupted: at once, or at the end of the queue if the thread is busy.", h.TurnRetry, ofTurn),
		define("turn/read", "One turn and, with include_items, the first page of its items.", h.TurnRead, ofTurn),
		define("turn/list", "Turns in the order of their making; order desc, the newest first.", h.TurnList, ofLog),
		define("item/list", "Items in the order of their making; order desc, the newest first. With status pending: every question that waits.", h.ItemList, ofLog),
		define("item/read", "One item; an open one with its text so far.", h.ItemRead, ofItem),
		define("item/respond", "Answers a permission_request or a question. The first answer wins.", h.ItemRespond, ofItem),
		definePolling("turn/claim", "Takes the next turn of an agent of kind worker, and waits for one up to wait_seconds. The lease goes with all that the worker says of the turn.", h.TurnClaim, ofServer),
		define("turn/renew", "Keeps a lease for another of its periods, and tells what was asked of the turn meanwhile.", h.TurnRenew, ofTurn),
		define("step/start", "Begins a try of a step of a leased turn. If there has been one, it is superseded.", h.StepStart, ofTurn),
		define("step/end", "Ends a try of a step of a leased turn, and of those below it.", h.StepEnd, ofTurn),
		define("item/create", "Makes an item of a leased turn.", h.ItemCreate, ofTurn),
		define("item/append", "Adds text to an open item of a leased turn.", h.ItemAppend, ofTurn),
		define("item/update", "Changes or ends an open item of a leased turn.", h.ItemUpdate, ofTurn),
		define("item/delete", "Withdraws an item of a leased turn.", h.ItemDelete, ofTurn),
		define("item/batch", "Does several of item/create, append, update and delete in one transaction, or none of them.", h.ItemBatch, ofTurn),
		define("turn/complete", "Ends a leased turn well.", h.TurnComplete, ofTurn),
		define("turn/fail", "Ends the attempt of a lease badly. If it is transient, the turn's policy may try it again.", h.TurnFail, ofTurn),
		define("event/list", "Events of the log after a seq.", h.EventList, ofLog),
		define("stream/subscribe", "Replaces the subscription of this connection. The answer comes before its first event.", h.StreamSubscribe, ofLog, bound),
		define("stream/unsubscribe", "Ends the subscription of this connection.", h.StreamUnsubscribe, ofLog, bound, quick),
		define("rpc.discover", "The OpenRPC document of all this.", h.RPCDiscover, ofServer),
	}
}
