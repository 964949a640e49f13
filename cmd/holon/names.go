package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/rpc/client"
	"github.com/seed82539d15/holon/threads"
)

// latest is the name of the newest thread, turn or question.
const latest = "latest"

// How much of an id is typed, shown, and looked at.
const (
	leastTyped = 4    // characters of a beginning or an ending
	shownEnd   = 8    // characters of ids in tables: of a UUID, all of them are random
	maxNamed   = 3000 // rows of a list: three pages, well below a second
)

// nameKind is what a name can stand for.
type nameKind struct {
	noun, nouns string
	prefix      string // of the ids that the server makes
	list        listing
	filter      map[string]any
	read, param string // the method that reads one, and its param
	notFound    string // its error if there is none
}

var (
	threadNames = nameKind{
		noun: "thread", nouns: "threads", prefix: "thread_", list: threadListing,
		read: "thread/read", param: "thread_id", notFound: "thread_not_found",
	}
	turnNames = nameKind{
		noun: "turn", nouns: "turns", prefix: "turn_", list: turnListing,
		read: "turn/read", param: "turn_id", notFound: "turn_not_found",
	}
	// Only open questions are named: of all items there are too many to look at.
	questionNames = nameKind{
		noun: "open question", nouns: "open questions", prefix: "item_", list: itemListing, filter: map[string]any{"status": "pending"},
		read: "item/read", param: "item_id", notFound: "item_not_found",
	}
)

// named is a thread, turn or question that a name can stand for.
type named struct {
	kind   *nameKind
	id     string
	title  string
	given  bool   // a client gave the title, of a thread; nobody says it of a turn
	began  string // of a thread without a title: its first prompt
	level  int    // of a thread: those below others have been started by agents, too
	state  string
	thread string // of a turn
}

// finder finds what people name: see candidates. It asks the server for rows, a bounded
// number. One goroutine uses it.
type finder struct {
	*console
	ctx    context.Context
	client *client.Client
	most   int  // rows of a kind that are looked at; 0 = maxNamed
	exact  bool // names are whole ids: the command works for a program
	tell   bool // say on stderr what a name stands for, because the command changes it
	ends   bool // nothing that an agent has chosen is a name: see ender
	whole  bool // no beginning of a title is a name: the name may be a new id
}

// finder returns the finder of a command that reads. It must have checked -o.
func (g *globals) finder(cmd *cobra.Command, c *client.Client) finder {
	return finder{console: &g.console, ctx: cmd.Context(), client: c, exact: g.output != "" && g.output != "text"}
}

// changer returns a finder for a command that changes what it finds.
func (g *globals) changer(cmd *cobra.Command, c *client.Client) finder {
	return g.finder(cmd, c).telling()
}

// ender returns a finder for a command that ends, answers or closes what it finds, or lets
// others in: ids and titles given by clients are names for it, and nothing that an agent
// has chosen.
func (f finder) ender() finder {
	f.ends = true
	return f
}

func (c *caller) finder() finder {
	return finder{console: c.console, ctx: c.ctx, client: c.client, exact: c.format != "text"}
}

// telling returns a finder for a command that changes what it finds.
func (f finder) telling() finder {
	f.tell = true
	return f
}

// inbox returns the id of the thread that a person names, for a command about its inbox.
func (f finder) inbox(name string) (string, error) {
	id, err := f.thread(name)
	return id, ofInbox(err, name)
}

// thread returns the id of the thread that a person names; "" stays "".
func (f finder) thread(name string) (string, error) {
	found, err := f.find(name, &threadNames)
	return found.id, err
}

// turn returns the id of the turn that a person names; "" stays "".
func (f finder) turn(name string) (string, error) {
	found, err := f.find(name, &turnNames)
	if client.IsKind(err, turnNames.notFound) {
		f.tell = false
		if thread, threadErr := f.find(name, &threadNames); threadErr == nil && thread.id != "" {
			err = &hintedError{err, fmt.Sprintf("It is the thread %s. Its turns: holon turns %s", thread.shown(f.console), nameByID(f, thread.id))}
		}
	}
	return found.id, err
}

// turns returns the ids of turns, for a request that says itself which are unknown.
func (f finder) turns(names []string) ([]string, error) {
	return each(names, func(name string) (string, error) { return orName(f.turn, name, turnNames) })
}

// threads returns the ids of threads, of which some may not exist yet.
func (f finder) threads(names []string) ([]string, error) {
	f.whole = true
	return each(names, func(name string) (string, error) { return orName(f.thread, name, threadNames) })
}

// followed returns the ids of threads whose events a person follows. Some may not exist yet;
// that is said, because a wrong name would show nothing for ever.
func (f finder) followed(names []string) ([]string, error) {
	f.whole = true
	return each(names, func(name string) (string, error) {
		id, err := f.thread(name)
		if client.IsKind(err, threadNames.notFound) && name != latest && threads.ValidID(name) {
			f.note("There is no thread %s yet. What comes of one with this id is shown; holon threads lists the threads.", timeline.OneLine(name))
			return name, nil
		}
		return orName(func(string) (string, error) { return id, err }, name, threadNames)
	})
}

// orName finds an id, or takes the name as one that is not known yet. "latest" never is
// one: it would stand for another thread from then on.
func orName(find func(string) (string, error), name string, kind nameKind) (string, error) {
	id, err := find(name)
	if (client.IsKind(err, kind.notFound) || outside(err)) && name != latest && threads.ValidID(name) {
		return name, nil
	}
	return id, err
}

func each(names []string, find func(string) (string, error)) (ids []string, err error) {
	for _, name := range names {
		id, err := find(name)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// filter finds the thread and the turn that the filter of a list names.
func (f finder) filter(params map[string]any) error {
	for param, find := range map[string]func(string) (string, error){"thread_id": f.thread, "turn_id": f.turn} {
		if name, ok := params[param].(string); ok {
			id, err := find(name)
			if err != nil {
				return err
			}
			params[param] = id
		}
	}
	return nil
}

// threadToRun returns the id of the thread for a new turn. One that does not exist is made, if the
// name can be an id: that is said, because a typing error would leave work where nobody
// looks for it.
func (f finder) threadToRun(name string, quiet bool) (string, error) {
	if f.exact && name == latest {
		return "", usagef("--thread latest: with -o json, name the thread by its whole id")
	}
	f.whole = threads.ValidID(name)
	id, err := f.thread(name)
	if client.IsKind(err, threadNames.notFound) && f.whole && name != latest && !quiet && !f.exact {
		is := f.nearby(name, []*nameKind{&threadNames})
		if is != "" {
			is = "; did you mean " + is + "?"
		}
		f.note("%s is a new thread%s", timeline.OneLine(name), is)
	}
	return orName(func(string) (string, error) { return id, err }, name, threadNames)
}

// find finds what a name stands for, among these kinds; "latest" is the newest of the
// first one. What the server does not let this client look up is taken as an id: the
// command's own request says what is wrong with it.
func (f finder) find(name string, kinds ...*nameKind) (named, error) {
	itself := named{kind: kinds[0], id: name}
	if name == "" || f.exact && len(kinds) == 1 {
		return itself, nil
	}
	var absent error
	for _, kind := range kinds {
		if wholeID(kind.prefix, name) {
			return named{kind: kind, id: name}, nil
		}
	}
	for _, kind := range kinds {
		var read struct {
			Thread row `json:"thread"`
		}
		err := f.client.Call(f.ctx, kind.read, map[string]any{kind.param: name}, &read)
		switch {
		case err == nil && f.ends && read.Thread.Level > 0:
			// An agent may have chosen the id after the title that is meant.
			switch titled, err := titledLike(f, name); {
			case err != nil:
				return itself, err
			case len(titled) > 0:
				return itself, f.ambiguous(name, append(titled, read.Thread.named(kind)))
			}
			return named{kind: kind, id: name}, nil
		case err == nil:
			return named{kind: kind, id: name}, nil
		case client.IsKind(err, kind.notFound), outside(err):
		case name == latest: // it must not become an id
			return itself, err
		default:
			return itself, nil
		}
		if absent == nil {
			absent = err
		}
	}
	if len(kinds) > 1 {
		hint := "holon threads lists the threads, holon turns the turns."
		if f.exact {
			hint = "With -o a name is a whole id: holon threads --long and holon turns --long show them."
		}
		absent = &hintedError{errors.New("no such thread or turn"), hint}
	}
	if f.exact {
		return itself, fmt.Errorf("%s: %w", inQuotes(name), absent)
	}
	found, all, looked, err := f.candidates(name, kinds)
	if err == nil && len(found) == 0 && f.ends {
		if err := chosenByAgents(f, name, all); err != nil {
			return itself, err
		}
	}
	switch {
	case err != nil && name == latest:
		return itself, err
	case err != nil:
		return itself, nil
	case len(found) == 1:
		if f.tell {
			sayName(f, name, found[0])
		}
		return found[0], nil
	case len(found) > 1:
		return itself, f.ambiguous(name, found)
	case looked != "":
		return itself, fmt.Errorf("%s among %s: %w", inQuotes(name), looked, absent)
	case name != "" && len(name) < leastTyped && strings.Trim(name, "0123456789abcdef") == "": // servers look for no shorter part of an id
		absent = &hintedError{absent, fmt.Sprintf("A beginning or ending of an id takes at least %d characters.", leastTyped)}
	case !f.whole && kinds[0] != &questionNames:
		if is := f.nearby(name, kinds); is != "" {
			absent = &hintedError{absent, fmt.Sprintf("Did you mean %s? holon %s lists the %s.", is, kinds[0].nouns, kinds[0].nouns)}
		}
	}
	return itself, fmt.Errorf("%s: %w", inQuotes(name), absent)
}

// outside reports whether the server has refused an id because it is not of the threads to
// which the token is limited.
func outside(err error) bool {
	var refused *client.Error
	return errors.As(err, &refused) && refused.Kind == client.KindForbidden && refused.Reason == "threads"
}

// wholeID reports whether a name has the form of the ids that the server makes. Such a
// name is never a title: a title must not stand for a thread that is gone.
func wholeID(prefix, name string) bool {
	rest, ok := strings.CutPrefix(name, prefix)
	return ok && len(rest) == 36 && uuid.Validate(rest) == nil
}
