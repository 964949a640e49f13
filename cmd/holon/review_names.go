package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/rpc/client"
)

// reviewed returns the id of the turn whose review a person names: by the turn, or by its thread
// if one turn of it waits for a verdict; for a command that gives none also by a part of
// what the list says of it. A turn that does not wait is named as everywhere.
func (f finder) reviewed(name string) (string, error) {
	if f.exact || wholeID(turnNames.prefix, name) {
		return f.turn(name)
	}
	waiting, err := waitingForReview(f)
	if err != nil {
		return "", err
	}
	if name == latest && len(waiting) > 0 {
		waiting = waiting[len(waiting)-1:]
	} else if found := partly(waiting, name, f.ends); len(found) > 0 {
		waiting = found
	} else {
		quiet := f
		quiet.tell = false
		thread, err := quiet.find(name, &threadNames)
		switch {
		case err == nil:
			waiting = slices.DeleteFunc(waiting, func(n named) bool { return n.thread != thread.id })
		case !client.IsKind(err, threadNames.notFound):
			return "", err
		case f.ends:
			if found := withWords(waiting, name); len(found) > 0 {
				return "", candidatesError(inQuotes(name)+" is in what an agent said; a verdict takes the turn, or a title that a client gave. It may mean", found, f.others(found))
			}
			waiting = nil
		default:
			waiting = withWords(waiting, name)
		}
		if err == nil && len(waiting) == 0 {
			return noneWaits(f, name, thread)
		}
	}
	switch len(waiting) {
	case 0:
		return f.turn(name)
	case 1:
		if f.tell {
			sayName(f, name, waiting[0])
		}
		return waiting[0].id, nil
	}
	return "", f.ambiguous(name, waiting)
}

// withWords returns the turns of which the list says something with this part, in any case of the
// letters.
func withWords(waiting []named, part string) []named {
	part = strings.ToLower(timeline.OneLine(part))
	return slices.DeleteFunc(slices.Clone(waiting), func(n named) bool { return !strings.Contains(strings.ToLower(n.title), part) })
}

// noneWaits returns the error for a thread in which no turn waits for a verdict: its
// newest turn can be looked at, and gets no verdict.
func noneWaits(f finder, name string, thread named) (string, error) {
	if !f.ends {
		found, err := turnListing.fetch(f.ctx, f.client, map[string]any{"thread_id": thread.id}, 1)
		if err != nil {
			return "", err
		}
		if len(found.rows) > 0 {
			var r row
			if err := json.Unmarshal(found.rows[0], &r); err != nil {
				return "", fmt.Errorf("read a row of turn/list: %w", err)
			}
			return r.TurnID, nil
		}
	}
	return "", &hintedError{fmt.Errorf("no turn of %s waits for a verdict", inQuotes(name)), "holon review lists those that do."}
}

// waitingForReview returns the turns that wait for a verdict, each with what the list says of it.
func waitingForReview(f finder) (rows []named, err error) {
	found, err := reviewListing.fetch(f.ctx, f.client, map[string]any{"review": "pending"}, maxNamed)
	if err != nil {
		return nil, err
	}
	for _, raw := range found.rows {
		var r row
		cells, err := reviewListing.row(raw)
		if err == nil {
			err = json.Unmarshal(raw, &r)
		}
		if err != nil {
			return nil, fmt.Errorf("read a row of turn/list: %w", err)
		}
		n := r.named(&turnNames)
		n.title = cells[reviewListing.flex]
		rows = append(rows, n)
	}
	return rows, nil
}
