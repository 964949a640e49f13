package turns

import (
	"cmp"

	"github.com/seed82539d15/holon/ledger"
)

// The reasons of turns that a stop or a start of the server ends.
const (
	ServerStopping  = "server stopping"
	ServerRestarted = "server restarted"
)

// RestartedInLastAttempt is the failure of a turn whose policy allows no attempt after a
// restart. In older logs such an end has no reason, and only the failure says why.
var RestartedInLastAttempt = Failure{Kind: "unavailable", Message: "the server was restarted in the last attempt of the turn"}

// EndedBy is what ended a turn, as turn/list selects it.
type EndedBy string

// EndedByRestart selects the turns that were lost with a restart, and that nobody has gone
// on with. A stop or a start of the server has ended the turn: RestartSeq is set. It is the
// newest turn of its thread, which is open: no turn there is unfinished, and none that ran
// has ended later. And it is no child of a turn that has not ended, whose agent is told.
const EndedByRestart EndedBy = "restart"

// byRestart reports whether a stop or a start of the server ended the turn. An interrupt that
// a client or an owner has asked for before is theirs, whatever its reason.
func (e *EndedEvent) byRestart() bool {
	why := e.Reason == ServerStopping || e.Reason == ServerRestarted
	switch e.State {
	case Interrupted:
		return why && (e.By == ByServer || e.By == "") // "" is in logs of before there was By
	case Failed:
		return why || e.Error != nil && *e.Error == RestartedInLastAttempt
	}
	return false
}

// EndedWithRestart finds turns by the seq of their end, if a restart has ended them.
var EndedWithRestart = &ledger.Index{Table: Table, Name: "turns_restart", Columns: []string{"restart_seq"}}

// EndsOfThread finds the turns of a thread, for ReadEnd.
var EndsOfThread = &ledger.Index{Table: endTable, Name: OfThread.Name, Columns: OfThread.Columns}

var endTable = ledger.NewTable(ledger.Table{Name: Table.Name, Columns: []string{"created_seq", "state", "started_at", "updated_seq", "accepted_seq", "review_end_seq"}})

// ReadEnd returns the seq of the live end of a turn that has run; 0 for a turn that has not
// ended, or was in the queue then. Times would not do: a machine may start with an old clock.
func ReadEnd(v ledger.Values) int64 {
	if !State(v.Text(1)).Ended() || v.Int(2) == 0 {
		return 0
	}
	t := Turn{UpdatedSeq: v.Int(3), AcceptedSeq: v.Int(4), Review: &Review{EndSeq: v.Int(5)}}
	return cmp.Or(t.EndSeq(), t.UpdatedSeq)
}
