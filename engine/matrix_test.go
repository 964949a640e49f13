package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// matrix is every state of a thread and of one of its turns, against every
// command. Cells are results, ! is an error. A refused command must not change the
// log. – is an impossible pair of states:
//   - a closing thread has no queue, and its active turn is interrupting;
//   - a closed thread has no turn that has not ended.
//
// The queued turn of a running thread is behind an active one, to which on_busy
// applies then. The agent is deaf: a turn that is interrupting stays so.
// A queued turn that is interrupted is final at once.
const matrix = `
thread  turn         queue   reject  interrupt steer   | t.steer    t.cut      t.interrupt  respond   | start   pause   resume  close   | config  fork    | rt.pause rt.resume
absent  absent       !thread !thread !thread   !thread | !turn      !turn      !turn        !item     | created !thread !thread !thread | !thread !thread | paused   running

running absent       active  active  active    active  | !turn      !turn      !turn        !item     | running paused  running closed  | set     forked  | paused   running
running queued       queued2 !busy   queued1   steered | !notactive !notactive interrupted  !item     | running paused  running closing | set     !busy   | paused   running
running active       queued1 !busy   queued1   steered | queued     queued     interrupting !resolved | running paused  running closing | set     !busy   | paused   running
running waiting      queued1 !busy   queued1   steered | queued     queued     interrupting completed | running paused  running closing | set     !busy   | paused   running
running interrupting queued1 !busy   queued1   queued1 | !notactive !notactive interrupting !resolved | running paused  running closing | set     !busy   | paused   running
running completed    active  active  active    active  | !notactive !notactive !notactive   !resolved | running paused  running closed  | set     forked  | paused   running
running interrupted  active  active  active    active  | !notactive !notactive !notactive   !resolved | running paused  running closed  | set     forked  | paused   running
running failed       active  active  active    active  | !notactive !notactive !notactive   !resolved | running paused  running closed  | set     forked  | paused   running

paused  absent       queued1 !paused queued1   queued1 | !turn      !turn      !turn        !item     | paused  paused  running closed  | set     forked  | paused   running
paused  queued       queued2 !paused queued1   queued2 | !notactive !notactive interrupted  !item     | paused  paused  running closed  | set     forked  | paused   running
paused  active       queued1 !paused queued1   steered | queued     queued     interrupting !resolved | paused  paused  running closing | set     !busy   | paused   running
paused  waiting      queued1 !paused queued1   steered | queued     queued     interrupting completed | paused  paused  running closing | set     !busy   | paused   running
paused  interrupting queued1 !paused queued1   queued1 | !notactive !notactive interrupting !resolved | paused  paused  running closing | set     !busy   | paused   running
paused  completed    queued1 !paused queued1   queued1 | !notactive !notactive !notactive   !resolved | paused  paused  running closed  | set     forked  | paused   running
paused  interrupted  queued1 !paused queued1   queued1 | !notactive !notactive !notactive   !resolved | paused  paused  running closed  | set     forked  | paused   running
paused  failed       queued1 !paused queued1   queued1 | !notactive !notactive !notactive   !resolved | paused  paused  running closed  | set     forked  | paused   running

closing absent       !closed !closed !closed   !closed | !turn      !turn      !turn        !item     | !closed !closed !closed closing | !closed !closed | paused   running
closing queued       –       –       –         –       | –          –          –            –         | –       –       –       –       | –       –       | –        –
closing active       –       –       –         –       | –          –          –            –         | –       –       –       –       | –       –       | –        –
closing waiting      –       –       –         –       | –          –          –            –         | –       –       –       –       | –       –       | –        –
closing interrupting !closed !closed !closed   !closed | !notactive !notactive interrupting !resolved | !closed !closed !closed closing | !closed !closed | paused   running
closing completed    !closed !closed !closed   !closed | !notactive !notactive !notactive   !resolved | !closed !closed !closed closing | !closed !closed | paused   running
closing interrupted  !closed !closed !closed   !closed | !notactive !notactive !notactive   !resolved | !closed !closed !closed closing | !closed !closed | paused   running
closing failed       !closed !closed !closed   !closed | !notactive !notactive !notactive   !resolved | !closed !closed !closed closing | !closed !closed | paused   running

closed  absent       !closed !closed !closed   !closed | !turn      !turn      !turn        !item     | !closed !closed !closed closed  | !closed !closed | paused   running
closed  queued       –       –       –         –       | –          –          –            –         | –       –       –       –       | –       –       | –        –
closed  active       –       –       –         –       | –          –          –            –         | –       –       –       –       | –       –       | –        –
closed  waiting      –       –       –         –       | –          –          –            –         | –       –       –       –       | –       –       | –        –
closed  interrupting –       –       –         –       | –          –          –            –         | –       –       –       –       | –       –       | –        –
closed  completed    !closed !closed !closed   !closed | !notactive !notactive !notactive   !resolved | !closed !closed !closed closed  | !closed !closed | paused   running
closed  interrupted  !closed !closed !closed   !closed | !notactive !notactive !notactive   !resolved | !closed !closed !closed closed  | !closed !closed | paused   running
closed  failed       !closed !closed !closed   !closed | !notactive !notactive !notactive   !resolved | !closed !closed !closed closed  | !closed !closed | paused   running
`

// turnStates are the states of a turn that commands distinguish.
var turnStates = []string{"absent", "queued", "active", "waiting", "interrupting", "completed", "interrupted", "failed"}

// matrixErrors names the errors of the cells.
var matrixErrors = map[string]error{
	"!thread": threads.ErrNotFound, "!closed": threads.ErrClosed, "!paused": threads.ErrPaused, "!busy": turns.ErrBusy,
	"!turn": turns.ErrNotFound, "!notactive": turns.ErrNotActive, "!item": items.ErrNotFound, "!resolved": items.ErrAlreadyResolved,
}

// matrixCommands are the columns. Each is given the thread, the turn and the
// question of its row, and returns the result.
var matrixCommands = map[string]func(e *engine.Engine, thread, turn, item string) (string, error){
	"queue":     matrixStart(turns.BusyQueue),
	"reject":    matrixStart(turns.BusyReject),
	"interrupt": matrixStart(turns.BusyInterrupt),
	"steer":     matrixStart(turns.BusySteer),
	"t.steer":   matrixSteer(false),
	"t.cut":     matrixSteer(true),
	"t.interrupt": func(e *engine.Engine, _, turn, _ string) (string, error) {
		r, _, err := e.Interrupt(bg, turns.Interrupt{TurnID: turn})
		return r.State, err
	},
	"respond": func(e *engine.Engine, _, _, item string) (string, error) {
		r, err := e.Respond(bg, turns.Respond{ItemID: item, OptionKind: items.AllowOnce})
		return string(r.Status), err
	},
	"start": func(e *engine.Engine, thread, _, _ string) (string, error) {
		r, err := e.StartThread(bg, turns.StartThread{ThreadID: thread})
		if r.Created {
			return "created", err
		}
		return string(r.State), err
	},
	"pause":  matrixChange(threads.VerbPause),
	"resume": matrixChange(threads.VerbResume),
	"close":  matrixChange(threads.VerbClose),
	"config": func(e *engine.Engine, thread, _, _ string) (string, error) {
		_, err := e.ThreadConfigure(bg, turns.Configure{ThreadID: thread, Config: settings(`"x"`)})
		return "set", err
	},
	"fork": func(e *engine.Engine, thread, _, _ string) (string, error) {
		_, err := e.ThreadFork(bg, turns.Fork{ThreadID: thread})
		return "forked", err
	},
	"rt.pause": func(e *engine.Engine, _, _, _ string) (string, error) {
		r, err := e.Pause(bg, turns.Pause{})
		return r.State, err
	},
	"rt.resume": func(e *engine.Engine, _, _, _ string) (string, error) {
		r, err := e.Resume(bg, turns.Resume{})
		return r.State, err
	},
}

func matrixStart(busy turns.OnBusy) func(e *engine.Engine, thread, turn, item string) (string, error) {
	return func(e *engine.Engine, thread, _, _ string) (string, error) {
		r, err := e.Start(bg, turns.Start{ThreadID: thread, Input: text("x"), OnBusy: busy})
		switch {
		case r.Steered:
			return "steered", err
		case r.State == turns.Queued:
			return fmt.Sprint("queued", r.Position), err
		}
		return string(r.State), err
	}
}

func matrixSteer(cut bool) func(e *engine.Engine, thread, turn, item string) (string, error) {
	return func(e *engine.Engine, _, turn, _ string) (string, error) {
		r, err := e.Steer(bg, turns.Steer{TurnID: turn, Input: text("x"), Interrupt: cut})
		return string(r.Delivery), err
	}
}

func matrixChange(verb threads.Verb) func(e *engine.Engine, thread, turn, item string) (string, error) {
	return func(e *engine.Engine, thread, _, _ string) (string, error) {
		r, err := e.ChangeThread(bg, turns.ChangeThread{ThreadID: thread, Verb: verb})
		return string(r.State), err
	}
}

// matrixRows reads the table, and fails if it has gaps.
func matrixRows(t *testing.T) (columns []string, rows [][]string) {
	t.Helper()
	seen := map[string]bool{}
	for _, line := range strings.Split(matrix, "\n") {
		cells := strings.Fields(strings.ReplaceAll(line, "|", " "))
		switch {
		case len(cells) == 0:
		case columns == nil:
			columns = cells[2:]
		case len(cells) != len(columns)+2:
			t.Fatalf("a gap in %q", line)
		default:
			rows = append(rows, cells)
			seen[cells[0]+" "+cells[1]] = true
		}
	}
	for _, c := range columns {
		if matrixCommands[c] == nil {
			t.Fatalf("no command %q", c)
		}
	}
	if len(columns) != len(matrixCommands) {
		t.Fatal("a command has no column")
	}
	for _, th := range threads.States {
		for _, tn := range turnStates {
			if !seen[string(th)+" "+tn] {
				t.Errorf("no row for a turn that is %s in a thread that is %s", tn, th)
			}
		}
	}
	return columns, rows
}

func TestEveryCommandInEveryState(t *testing.T) {
	columns, rows := matrixRows(t)
	for _, thread := range []string{"absent", "running", "paused", "closing", "closed"} {
		t.Run(thread, func(t *testing.T) {
			bubble(t, setup{cfg: engine.Config{MaxActiveTurns: 10_000}}, func(h *harness) {
				for _, row := range rows {
					if row[0] != thread {
						continue
					}
					for i, command := range columns {
						if want := row[i+2]; want != "–" {
							h.matrixCell(fmt.Sprintf("%s-%s-%s", row[0], row[1], strings.ReplaceAll(command, ".", "_")), row[0], row[1], command, want)
						}
					}
				}
			})
		})
	}
}

// matrixCell brings a thread and its turn into the states and gives one
// command.
func (h *harness) matrixCell(id, thread, turn, command, want string) {
	h.t.Helper()
	turnID, itemID := h.matrixState(id, threads.State(thread), turn)
	synctest.Wait()
	h.pump()
	before := len(h.seen)
	got, err := matrixCommands[command](h.engine, id, turnID, itemID)
	synctest.Wait()
	h.pump()
	if strings.HasPrefix(want, "!") {
		if !errors.Is(err, matrixErrors[want]) {
			h.t.Errorf("%s: %s, %v, want %s", id, got, err, want)
		}
		if len(h.seen) != before {
			h.t.Errorf("%s: refused, but it did\n%s", id, list(h.seen[before:]))
		}
	} else if err != nil || got != want {
		h.t.Errorf("%s: %s, %v, want %s", id, got, err, want)
	}
	if command == "rt.pause" {
		h.resume()
	}
}

// matrixState makes the states of a row. The turn "" and the item "" do not exist.
func (h *harness) matrixState(id string, thread threads.State, turn string) (turnID, itemID string) {
	h.t.Helper()
	turnID, itemID = "turn_none", "item_none"
	if thread == "absent" {
		return turnID, itemID
	}
	h.thread(id, "deaf")
	pause := func() {
		if thread == threads.Paused {
			h.change(id, threads.VerbPause)
		}
	}
	start := func() *call {
		turnID = h.start(id).TurnID
		for {
			if c := h.next(h.deaf); c.TurnID == turnID {
				return c
			} // else one that a command of another cell has started
		}
	}
	switch turn {
	case "absent":
		pause()
	case "queued":
		if pause(); thread == threads.Running {
			start()
		}
		turnID = h.start(id).TurnID
	default:
		c := start()
		q := h.ask(c, permission(), turns.AskOptions{})
		itemID = q.id
		if turn == "active" {
			if _, err := h.engine.Respond(bg, turns.Respond{ItemID: q.id, OptionID: "no"}); err != nil {
				h.t.Error(err)
			}
		}
		if turn == "interrupting" || turn == "interrupted" {
			h.interrupt(turnID)
		}
		if state := turns.State(turn); state.Ended() {
			c.end(state)
			h.ended(turnID)
		}
		pause()
	}
	switch thread {
	case threads.Closing:
		if turn != "interrupting" {
			h.event(notify.TurnStarted, ofTurn(h.start(id).TurnID))
		}
		h.change(id, threads.VerbClose)
	case threads.Closed:
		h.change(id, threads.VerbClose)
	}
	th, err := h.reader.ReadThread(bg, id, 0)
	if err != nil || th.Thread.State != thread {
		h.t.Errorf("%s: the thread is %+v, %v", id, th.Thread, err)
	}
	return turnID, itemID
}

// What on_busy means while the runtime is paused: turns are accepted and
// queued for every value, as long as the thread is not busy.
func TestStartsWhileTheRuntimeIsPaused(t *testing.T) {
	for busy, want := range map[turns.OnBusy][]string{ // nothing, a queued turn, an active turn
		turns.BusyQueue:     {"queued1", "queued2", "queued1"},
		turns.BusyReject:    {"queued1", "!busy", "!busy"},
		turns.BusyInterrupt: {"queued1", "queued1", "queued1"},
		turns.BusySteer:     {"queued1", "queued2", "steered"},
	} {
		bubble(t, setup{}, func(h *harness) {
			for i, id := range []string{"nothing", "queued", "active"} {
				h.thread(id, "deaf")
				if id == "active" {
					h.start(id)
				}
				h.pause()
				if id == "queued" {
					h.start(id)
				}
				got, err := matrixStart(busy)(h.engine, id, "", "")
				if err != nil && errors.Is(err, matrixErrors[want[i]]) {
					got = want[i]
				}
				if got != want[i] {
					t.Errorf("%s with %s: %s, %v, want %s", busy, id, got, err, want[i])
				}
				h.resume()
			}
		})
	}
	if len(turnStates) != 8 || !slices.Contains(turnStates, "waiting") {
		t.Error("the list of states is not the contract's")
	}
}
