package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/internal/nearest"
	"github.com/seed82539d15/holon/rpc/client"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// candidates returns what the name can stand for, by the first rule that fits any of the rows:
// titles that clients have given, parts of ids, beginnings of such titles, titles of agents,
// prompts, beginnings of titles, and beginnings of prompts. looked says how far it has looked if
// there are older rows, else it is "".
func (f finder) candidates(name string, kinds []*nameKind) (found, all []named, looked string, err error) {
	if name == latest {
		rows, _, err := f.rows(kinds[0], "", 1)
		return rows, rows, "", err
	}
	for _, kind := range kinds {
		rows, more, err := f.rows(kind, name, cmp.Or(f.most, maxNamed))
		if err != nil {
			return nil, nil, "", err
		}
		if all = append(all, rows...); more {
			looked = fmt.Sprintf("the newest %d %s", len(rows), kind.nouns)
		}
	}
	found, err = f.ranked(all, name)
	if looked != "" && len(found) > 0 {
		f.note("Only %s were looked at.", looked)
	}
	return found, all, looked, err
}

// ranked returns the rows for which a name stands.
func (f finder) ranked(all []named, name string) (found []named, err error) {
	given, err := f.given(all, name)
	if err != nil {
		return nil, err
	}
	is, begins := isName(name), beginsWith(name)
	take := func(rows []named) bool { found = rows; return len(found) > 0 }
	if titled := fitting(given, byTitle, is); f.ends && len(titled) > 0 { // neither is guessed where another thread has the name as its id
		ids := slices.DeleteFunc(partly(all, name, true), func(n named) bool {
			return slices.ContainsFunc(titled, func(t named) bool { return t.id == n.id || t.id == n.thread })
		})
		return append(titled, ids...), nil
	}
	switch {
	case take(fitting(given, byTitle, is)), take(partly(all, name, f.ends)), !f.whole && take(fitting(given, byTitle, begins)), f.ends:
	case take(fitting(all, byTitle, is)), take(fitting(all, byPrompt, is)), f.whole:
	case take(fitting(all, byTitle, begins)), take(fitting(all, byPrompt, begins)):
	}
	return found, nil
}

func byTitle(n named) string  { return n.title }
func byPrompt(n named) string { return n.began }

// isName reports of a text whether it is the name, as it is or as tables show it.
func isName(name string) func(text string) bool {
	shown := timeline.OneLine(name)
	return func(text string) bool { return text == name || shown != "" && timeline.OneLine(text) == shown }
}

// beginsWith reports of a text whether it begins with the name, as tables show both, in any
// case of the letters.
func beginsWith(name string) func(text string) bool {
	begin := strings.ToLower(timeline.OneLine(name))
	return func(text string) bool {
		return begin != "" && strings.HasPrefix(strings.ToLower(timeline.OneLine(text)), begin)
	}
}

// fitting returns the rows of which this text fits. A turn is not another candidate than its
// thread: a child turn often has the title of the thread that was made for it.
func fitting(all []named, text func(named) string, fits func(string) bool) []named {
	found := slices.DeleteFunc(slices.Clone(all), func(n named) bool { return n.kind == &questionNames || !fits(text(n)) })
	return slices.DeleteFunc(slices.Clone(found), func(n named) bool {
		return n.thread != "" && slices.ContainsFunc(found, func(t named) bool { return t.kind == &threadNames && t.id == n.thread })
	})
}

// given returns the threads whose titles clients have given. Titles of threads below others are
// among them only for a command that ends something, and only if they were given later than
// the thread: at its start an agent may have given one.
func (f finder) given(all []named, name string) (list []named, err error) {
	begins := beginsWith(name)
	for _, n := range all {
		switch {
		case n.kind != &threadNames || !n.given:
		case n.level == 0:
			list = append(list, n)
		case f.ends && begins(n.title):
			renamed, err := renamed(f, n)
			if err != nil {
				return nil, err
			}
			if renamed {
				list = append(list, n)
			}
		}
	}
	return list, nil
}

// renamed reports whether a client has given a thread its title after its start. What the
// log does not say any more was not.
func renamed(f finder, n named) (bool, error) {
	var first struct {
		Events []struct {
			Params threads.Thread `json:"params"`
		} `json:"events"`
	}
	err := f.client.Call(f.ctx, "event/list", map[string]any{"thread_id": n.id, "after_seq": 0, "limit": 1}, &first)
	if client.IsKind(err, client.KindCursorExpired) {
		return false, nil
	}
	return err == nil && len(first.Events) == 1 && first.Events[0].Params.Title != n.title, err
}

// nearby returns the title, or the id that somebody chose, that a name with a typing error may
// mean; "" = none of the newest.
func (f finder) nearby(name string, kinds []*nameKind) string {
	var words []string
	for _, kind := range kinds {
		rows, _, err := f.rows(kind, "", nameOfRows)
		if err != nil {
			return "" // it is only a hint
		}
		for _, n := range rows {
			if words = append(words, timeline.OneLine(cmp.Or(n.title, n.began))); !wholeID(kind.prefix, n.id) {
				words = append(words, n.id)
			}
		}
	}
	is := nearest.Of(timeline.OneLine(name), words)
	if is != "" && strings.Contains(is, " ") {
		return inQuotes(is)
	}
	return is
}

// titledLike returns the threads whose titles, given by clients, are this name.
func titledLike(f finder, name string) ([]named, error) {
	rows, _, err := f.rows(&threadNames, name, cmp.Or(f.most, maxNamed))
	if err != nil {
		return nil, err
	}
	given, err := f.given(rows, name)
	return fitting(given, byTitle, isName(name)), err
}

// chosenByAgents returns the error for a name that stands for something only because agents have
// chosen it; nil if it does not.
func chosenByAgents(f finder, name string, all []named) error {
	f.ends = false
	found, err := f.ranked(all, name)
	if err != nil || len(found) == 0 {
		return err
	}
	return candidatesError(fmt.Sprintf("%s is a prompt or what an agent chose; this command takes ids, and titles given with holon rename or --title. It may mean", inQuotes(name)), found, f.others(found))
}

// partly returns the rows whose id begins or ends with the name, its prefix aside, or of which the
// end that tables show begins with it. With made, the id of a thread below another must be one
// that the server has made: an agent may choose it.
func partly(all []named, name string, made bool) []named {
	begin, whole := "", false
	fits := func(rest string) bool {
		shown := rest[max(len(rest)-shownEnd, 0):]
		return strings.HasPrefix(rest, begin) || !whole && (strings.HasSuffix(rest, name) || strings.HasPrefix(shown, name))
	}
	return slices.DeleteFunc(slices.Clone(all), func(n named) bool {
		rest, has := strings.CutPrefix(n.id, n.kind.prefix)
		begin, whole = strings.CutPrefix(name, n.kind.prefix)
		return !has || len(begin) < leastTyped || !fits(rest) || made && n.level > 0 && !wholeID(n.kind.prefix, n.id)
	})
}

// row is what rows of every kind have for a name.
type row struct {
	ThreadID string          `json:"thread_id"`
	TurnID   string          `json:"turn_id"`
	ItemID   string          `json:"item_id"`
	Title    string          `json:"title"`
	TitleBy  threads.TitleBy `json:"title_by"`
	Level    int             `json:"level"`
	State    string          `json:"state"`
	Status   string          `json:"status"`

	Content json.RawMessage    `json:"content"`
	Summary *api.ThreadSummary `json:"summary"`
}

// named returns the row as what a name can stand for.
func (r row) named(kind *nameKind) named {
	n := named{kind: kind, title: r.Title, state: r.State}
	switch kind {
	case &threadNames:
		n.id, n.level, n.given = r.ThreadID, r.Level, r.TitleBy == threads.ByClient
		if r.Summary != nil {
			n.state = summaryStatus(threads.State(r.State), r.Summary)
			if n.title == "" && r.Summary.Title != n.id {
				n.began = r.Summary.Title
			}
		}
	case &turnNames:
		n.id, n.thread = r.TurnID, r.ThreadID
	default:
		n.id, n.state = r.ItemID, r.Status
		n.title = timeline.ReadContent(r.Content).Summary(r.Status)
	}
	return n
}

// maxText bounds the text by which the server selects threads.
const maxText = 1024

// rows reads the newest rows of a kind, the newest last. Threads are those that have the
// words of the name, if it is not "" and the server selects by them; older servers do not.
func (f finder) rows(kind *nameKind, name string, limit int) (rows []named, more bool, err error) {
	filter := maps.Clone(kind.filter)
	if kind == &threadNames {
		filter = withSummary(map[string]any{})
		// What acts in a title is shown as U+FFFD, here and maybe not there.
		if name = strings.TrimSpace(strings.ReplaceAll(timeline.OneLine(name), "\ufffd", " ")); name != "" && len(name) <= maxText {
			filter["text"] = name
		}
	}
	found, err := kind.list.fetch(f.ctx, f.client, filter, limit)
	if client.IsKind(err, "invalid_params") && filter["text"] != nil {
		delete(filter, "text")
		found, err = kind.list.fetch(f.ctx, f.client, filter, limit)
	}
	if err != nil {
		return nil, false, err
	}
	for _, raw := range found.rows {
		var r row
		if err := json.Unmarshal(raw, &r); err != nil {
			return nil, false, fmt.Errorf("read a row of %s: %w", kind.list.method, err)
		}
		rows = append(rows, r.named(kind))
	}
	return rows, found.more, nil
}

// shownID returns an id as people are shown it: its ending, or all of it with --long.
func shownID(con *console, id string) string { return timeline.OneLine(tableID(con)(id)) }

// shown returns the id, as people are shown it, with the title.
func (n named) shown(con *console) string {
	text := shownID(con, n.id)
	if timeline.OneLine(n.title) != "" {
		text += " " + inQuotes(timeline.Fit(timeline.OneLine(n.title), 60))
	}
	return text
}

// sayName prints what a name stands for, unless that is its title.
func sayName(f finder, name string, n named) {
	if name = timeline.OneLine(name); name == timeline.OneLine(n.title) {
		return
	}
	is := n.shown(f.console)
	if name == shownID(f.console, n.id) {
		is = strings.TrimPrefix(strings.TrimPrefix(is, name), " ")
	}
	if is != "" {
		f.note("%s is %s", name, is)
	}
}

// nameOf returns how a person can name a thread to the next command: by its title, if a client
// gave it and it stands for nothing else, and if no shell and no command reads more in it;
// else by the ending of its id.
func nameOf(f finder, t threads.Thread) string {
	ending, title := shownID(f.console, t.ThreadID), t.Title
	plain := title != "" && timeline.OneLine(title) == title && !strings.ContainsAny(title, "$`\\\"!") && !strings.HasPrefix(title, "-") &&
		title != latest && !wholeID(threadNames.prefix, title) && !wholeID(turnNames.prefix, title)
	if f.long || !plain || t.Level > 0 || t.TitleBy != threads.ByClient {
		return ending
	}
	f, end := f.forHint()
	defer end()
	rows, more, err := f.rows(&threadNames, title, nameOfRows)
	if err != nil || more || slices.ContainsFunc(rows, func(n named) bool { return n.id == title }) {
		return ending
	}
	if same := fitting(rows, byTitle, isName(title)); len(same) == 1 && same[0].id == t.ThreadID {
		return inQuotes(title)
	}
	return ending
}

// nameByID works like nameOf, for a thread of which only the id is known.
func nameByID(f finder, id string) string { return nameOf(f, readForName(f, id)) }

// nameToStop returns how a person can name a turn to a command that stops it: by nameOf its
// thread, if that is a title and the turn is the active one, else by its own id.
func nameToStop(con *console, name string, t *turns.Turn) string {
	if t.State == turns.Active && strings.HasPrefix(name, `"`) {
		return name
	}
	return shownID(con, t.TurnID)
}

// readForName reads a thread for its name. One that cannot be read has none but its id.
func readForName(f finder, id string) threads.Thread {
	var read struct {
		Thread threads.Thread `json:"thread"`
	}
	f, end := f.forHint()
	defer end()
	if f.client.Call(f.ctx, "thread/read", map[string]any{"thread_id": id}, &read) != nil {
		return threads.Thread{ThreadID: id}
	}
	return read.Thread
}

// forHint returns a finder for a hint: a person who leaves gets it too, and nobody waits for it.
func (f finder) forHint() (finder, context.CancelFunc) {
	ctx, end := context.WithTimeout(context.WithoutCancel(f.ctx), 5*time.Second)
	f.ctx = ctx
	return f, end
}

// nameOfRows is how many rows are looked at for another thread of the same title: a page
// that costs nothing.
const nameOfRows = 50
