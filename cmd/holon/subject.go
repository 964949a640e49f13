package main

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// subject is a thread, or a turn in it, that a command is about to change.
type subject struct {
	con    *console
	thread threads.Thread
	turn   *turns.Turn // nil: the thread itself

	summary *api.ThreadSummary // of the thread
}

// String returns it as people are shown it: by the endings of ids, as in tables, with the title.
func (s subject) String() string {
	n := named{id: s.thread.ThreadID, title: s.thread.Title}
	if s.turn == nil {
		return n.shown(s.con)
	}
	if s.turn.Title != "" {
		n.title = s.turn.Title
	}
	return shownID(s.con, s.turn.TurnID) + " of " + n.shown(s.con)
}

// subjectThread returns the thread that a person names.
func (k *control) subjectThread(f finder, name string) (s subject, err error) {
	id, err := f.thread(name)
	if err != nil {
		return s, err
	}
	s, _, err = k.readThread(id)
	return s, err
}

// readThread reads a thread, and what works for it.
func (k *control) readThread(id string) (s subject, children turns.Children, err error) {
	_, r, err := ask[api.ThreadReadResult](k.caller, "thread/read", map[string]any{"thread_id": id})
	if err != nil {
		return s, children, err
	}
	return subject{con: k.caller.console, thread: r.Thread.Thread, summary: cmp.Or(r.Thread.Summary, &api.ThreadSummary{})}, r.Children, nil
}

// noneActive returns the hint for a thread of which no turn is active.
func noneActive(name string) string {
	return fmt.Sprintf("holon turns %s lists its turns: a queued one is named by its own id. holon run --thread %s TEXT starts the next.", name, name)
}

// subjectTurn returns the turn that a person names; of a thread it is the active one.
func (k *control) subjectTurn(f finder, name string) (s subject, err error) {
	return k.turnOr(f, name, func(s subject) (*turns.Turn, error) {
		active, err := activeTurns(k.caller, map[string]any{"thread_id": s.thread.ThreadID}, 1)
		if err == nil && len(active) == 0 {
			err = &hintedError{fmt.Errorf("no turn of %s is active", s), noneActive(nameOf(k.caller.finder(), s.thread))}
		}
		if err != nil {
			return nil, err
		}
		return active[0], nil
	})
}

// lastTurn returns the turn that a person names; of a thread it is the newest one, and the
// person is told which that is.
func (k *control) lastTurn(f finder, name string) (s subject, err error) {
	return k.turnOr(f, name, func(s subject) (last *turns.Turn, err error) {
		if _, err := readNewest(k.caller, turnListing, map[string]any{"thread_id": s.thread.ThreadID}, 1, func(t *turns.Turn) { last = t }); err != nil {
			return nil, err
		}
		if last == nil {
			return nil, &hintedError{fmt.Errorf("%s has no turn yet", s), "Start one with: holon run --thread " + nameOf(k.caller.finder(), s.thread) + ` "…"`}
		}
		k.caller.note("The last turn of %s: %s", s, subject{con: s.con, thread: s.thread, turn: last, summary: s.summary}.does())
		return last, nil
	})
}

// turnOr returns the turn that a person names, or one of the thread that is named instead.
func (k *control) turnOr(f finder, name string, of func(subject) (*turns.Turn, error)) (s subject, err error) {
	c := k.caller
	found, err := f.find(name, &turnNames, &threadNames)
	if err != nil {
		return s, err
	}
	if found.kind == &turnNames {
		_, r, err := ask[api.TurnReadResult](c, "turn/read", map[string]any{"turn_id": found.id})
		if err != nil {
			return s, err
		}
		return k.subjectOf(r.Turn)
	}
	if s, _, err = k.readThread(found.id); err != nil {
		return s, err
	}
	s.turn, err = of(s)
	return s, err
}

// subjectOf reads the thread of a turn.
func (k *control) subjectOf(t *turns.Turn) (s subject, err error) {
	s, _, err = k.readThread(t.ThreadID)
	s.turn = t
	return s, err
}

// activeTurns returns the newest active turns, the newest last. The filter is that of turn/list.
func activeTurns(c *caller, filter map[string]any, limit int) (list []*turns.Turn, err error) {
	params := map[string]any{"state": turns.Active}
	for name, value := range filter {
		params[name] = value
	}
	_, err = readNewest(c, turnListing, params, limit, func(t *turns.Turn) { list = append(list, t) })
	return list, err
}

// began returns a line that tells a thread without a title from others: how its first prompt
// begins. It is no name.
func (s subject) began() string {
	if s.thread.Title != "" || s.turn != nil && s.turn.Title != "" || s.summary.Title == "" {
		return ""
	}
	return "  it began with: " + timeline.OneLine(s.summary.Title) + "\n"
}

// does describes in a line what a turn does now: the words of its state, and the question,
// tool or progress of its thread.
func (s subject) does() string {
	_, text := turnState(s.turn, time.Now())
	if s.turn.State != turns.Active {
		return text
	}
	hand := nowOf(s.summary)
	if s.summary.TurnID != s.turn.TurnID || hand == "" {
		hand = timeline.OneLine(s.turn.ProgressMessage)
	}
	if hand != "" {
		text += ": " + timeline.Fit(hand, 60)
	}
	return text
}

// onlyTurn returns the active turn that is meant where none is named: the only one, or the one
// that a person chooses. Where no person is asked, yes must say that the only one is meant.
func (k *control) onlyTurn(verb string, yes bool) (s subject, err error) {
	c := k.caller
	if c.format != "text" {
		return s, usagef("which TURN? With -o %s, name it by its whole id", c.format)
	}
	active, err := activeTurns(c, nil, shownCandidates+1)
	if err != nil {
		return s, err
	}
	var list []subject
	for _, t := range active {
		one, err := k.subjectOf(t)
		if err != nil {
			return s, err
		}
		list = append(list, one)
	}
	if len(list) == 0 {
		return s, &hintedError{fmt.Errorf("no turn is active: there is nothing to %s", verb), "holon threads shows what each thread does; a queued turn is named by its id, which holon turns shows."}
	}
	return k.choose(verb, list, yes)
}

// onlyThread returns the open thread that is meant where none is named.
func (k *control) onlyThread(verb string, yes bool) (s subject, err error) {
	c := k.caller
	if c.format != "text" {
		return s, usagef("which THREAD? With -o %s, name it by its whole id", c.format)
	}
	var open []subject
	for _, state := range []threads.State{threads.Paused, threads.Running} {
		filter := withSummary(map[string]any{"state": string(state)})
		if _, err := readNewest(c, threadListing, filter, shownCandidates+1, func(t *api.ThreadView) {
			open = append(open, subject{con: c.console, thread: t.Thread, summary: cmp.Or(t.Summary, &api.ThreadSummary{})})
		}); err != nil {
			return s, err
		}
	}
	if len(open) == 0 {
		return s, &hintedError{fmt.Errorf("no thread is open: there is nothing to %s", verb), "holon threads lists the threads."}
	}
	return k.choose(verb, open, yes)
}

// choose returns the only subject, or the one that a person chooses on a terminal.
func (k *control) choose(verb string, list []subject, yes bool) (s subject, err error) {
	c := k.caller
	if len(list) == 1 {
		if !yes && k.person() == nil {
			return s, usagef("which one? There is one, %s, but nobody can be asked here: name it, or add --yes", list[0])
		}
		return list[0], nil
	}
	var candidates []named
	for _, s := range list {
		if s.turn == nil {
			candidates = append(candidates, named{kind: &threadNames, id: s.thread.ThreadID, title: s.thread.Title, began: s.summary.Title, state: summaryStatus(s.thread.State, s.summary)})
			continue
		}
		title := s.thread.Title
		if s.turn.Title != "" {
			title = s.turn.Title
		}
		_, state := turnState(s.turn, time.Now())
		candidates = append(candidates, named{kind: &turnNames, id: s.turn.TurnID, title: title, began: s.summary.Title, state: state, thread: s.thread.ThreadID})
	}
	many := fmt.Sprint(len(list))
	if len(list) > shownCandidates {
		many = fmt.Sprintf("more than %d", shownCandidates)
	}
	which := fmt.Sprintf("which one? There are %s %s to %s", many, candidates[0].kind.nouns, verb)
	p := k.person()
	if p == nil || len(list) > shownCandidates {
		return s, candidatesError(which, candidates, candidates)
	}
	t := newTable("", strings.ToUpper(candidates[0].kind.noun), "TITLE", "STATE")
	for i, n := range candidates {
		t.add(fmt.Sprint(i+1), tableID(c.console)(n.id), candidateTitle(n), n.state)
	}
	fmt.Fprint(p.screen, t.layout(c.columns()-1, 2))
	n, err := p.number(c.ctx, fmt.Sprintf("%s which? 1-%d, Enter for none: ", strings.ToUpper(verb[:1])+verb[1:], len(list)), len(list))
	if err != nil {
		return s, err
	}
	if n == 0 {
		return s, errNothingDone
	}
	return list[n-1], nil
}
