package conformance

import (
	"cmp"
	"slices"
	"strings"
)

// check is one promise of the protocol and the code that tests it.
type check struct {
	// id is stable: reports of different releases are compared by it.
	id string
	// sentence says what is promised, as a full sentence.
	sentence string
	// source names the document and section of the rule.
	source string
	// needs is what the server must have for the check.
	needs need
	// run tests the promise. It returns if the promise holds, and otherwise
	// exits through probe.failf or skipf.
	run func(p *probe)
}

// need is a set of conditions; without them a check is skipped.
type need uint

const (
	// needEcho requires the echo agent, which follows the commands of a turn.
	needEcho need = 1 << iota
	// needWorker requires an agent of kind worker without workers.
	needWorker
	// needBrief requires another one with short leases.
	needBrief
	// needTCP requires a TCP address, where browsers can reach the server.
	needTCP
	// needLoopback requires an address of loopback.
	needLoopback
	// needToken requires the server's token, and needAsked a server that
	// demands it.
	needToken
	needAsked
	// background marks a check that mostly waits: it runs beside the others.
	background
	// last marks a check of all messages that the other checks have received.
	last
)

// needs maps the words of the scripts to needs.
var needs = map[string]need{"echo": needEcho, "worker": needWorker, "brief": needBrief, "tcp": needTCP,
	"loopback": needLoopback, "token": needToken, "asked": needAsked}

// The sources of the rules; scripts write theirs out. docs/protocol.md has
// numbered sections.
const (
	srcFrames   = "protocol.md §1 Transports and frames"
	srcStreams  = "protocol.md §2 Streams and cursors"
	srcMethods  = "protocol.md §3 Methods"
	srcEvents   = "protocol.md §4 Notifications"
	srcErrors   = "protocol.md §5 Errors"
	srcAdmit    = "protocol.md §6 Who gets in"
	srcInbox    = "protocol.md §8 Inboxes and timers"
	srcChild    = "protocol.md §9 Child threads and child turns"
	srcCursor   = "protocol.md §11 Cursors of consumers"
	srcDelivery = "protocol.md §12 Delivery"
	srcToken    = "protocol.md §13 Named tokens"
	srcRewind   = "rewind.md § What a consumer must do"
	srcSSE      = "HTML Living Standard §9.2 Server-sent events"
)

// areas is the order of the report: a check belongs to the area before the dot
// of its id.
var areas = []string{
	"envelope", "id", "batch", "params", "frame", "http", "admission", "runtime", "log",
	"thread", "agent", "turn", "busy", "interrupt", "steer", "attempt", "question", "item", "worker", "lease", "delta",
	"child", "await", "wait", "review",
	"inbox", "timer", "read", "idempotency", "stream", "cursor", "consumer", "delivery", "token", "filter", "collapse", "content", "subscribe", "sse", "error", "name", "schema",
}

// table returns every check by area; within an area the checks in Go come
// before the scripts.
func table() []check {
	all := slices.Concat(
		envelopeChecks(),
		idChecks(),
		batchChecks(),
		frameChecks(),
		httpChecks(),
		runtimeChecks(),
		logStreamChecks(),
		turnChecks(),
		interruptChecks(),
		steerChecks(),
		attemptChecks(),
		questionChecks(),
		itemChecks(),
		workerChecks(),
		deltaChecks(),
		inboxChecks(),
		timerChecks(),
		childChecks(),
		readChecks(),
		idempotencyChecks(),
		streamChecks(),
		cursorChecks(),
		consumerChecks(),
		deliveryChecks(),
		tokenChecks(),
		filterChecks(),
		collapseChecks(),
		contentChecks(),
		subscribeChecks(),
		sseChecks(),
		errorChecks(),
		nameChecks(),
		schemaChecks(),
		readScripts().checks,
	)
	slices.SortStableFunc(all, func(a, b check) int { return cmp.Compare(a.area(), b.area()) })
	return all
}

// area returns the index of the check's area.
func (c check) area() int {
	area, _, _ := strings.Cut(c.id, ".")
	return slices.Index(areas, area)
}
