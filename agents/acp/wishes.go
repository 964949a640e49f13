package acp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/agents/acp/mapping"
	"github.com/seed82539d15/holon/turns"
)

// wish is a setting that a session is to have before its first prompt, and whose
// wish it is.
type wish struct {
	setting
	of wisher
}

// wisher says whose wish a setting is. A greater one goes before a smaller one.
type wisher int

const (
	asBefore  wisher = iota // nobody's: it was so when the session was last open
	byKey                   // of the agent's configuration
	byThread                // of a client that has configured the thread
	byRequest               // of a client that configures the thread now
)

// wishes returns the settings that a session that was just opened needs, in the order in which
// it is set. config is the thread's in the log, instead what a client sets now.
func wishes(s *session, config jsontext.Value, instead []setting) (list []wish) {
	add := func(of wisher, name string, value jsontext.Value) {
		if is, ok := s.m.Setting(name); ok {
			name = is.Name
		}
		w := wish{setting{name, value}, of}
		switch i := slices.IndexFunc(list, func(w wish) bool { return w.name == name }); {
		case i < 0:
			list = append(list, w)
		case list[i].of <= of:
			list[i] = w
		}
	}
	logged := decode[chosen](config)
	for _, before := range logged.settings() {
		of := asBefore
		if is, ok := s.m.Setting(before.name); slices.Contains(logged.Configured, before.name) || ok && slices.Contains(logged.Configured, is.Name) {
			of = byThread
		}
		add(of, before.name, before.value)
	}
	for _, key := range (chosen{Mode: s.a.cfg.Mode, Model: s.a.cfg.Model, Options: s.a.cfg.Options}).settings() {
		add(byKey, key.name, key.value)
	}
	for _, now := range instead {
		add(byRequest, now.name, now.value)
	}
	order := func(w wish) int { return slices.Index([]string{"", "mode", "model"}, w.name) }
	slices.SortStableFunc(list, func(x, y wish) int { return max(order(y), 0) - max(order(x), 0) })
	return list
}

// configure sets what a session that was just opened is to have. The session is
// held, so this goroutine may use the mapping. What nobody has configured may be
// refused: notes say so. The error is a *Problem if the agent does not take what is
// configured, and what isRefusal knows if it does not take what a client sets now.
func configure(ctx context.Context, s *session, config jsontext.Value, instead []setting) (notes []string, err error) {
	catchUp(s, waiting(s))
	list := wishes(s, config, instead)
	for _, w := range list {
		is, ok := s.m.Setting(w.name)
		switch {
		case !ok && !needed(w, list):
			continue // an option that the agent, or its model, no longer has
		case ok && same(is.Value, w.value):
			continue
		}
		_, err := settingOf(s.m, w.setting)
		if err == nil {
			err = s.change(ctx, w.setting, is, func(f func()) error { f(); return nil })
		}
		switch {
		case err == nil:
		case !isRefusal(err) || w.of == byRequest:
			return notes, err
		case w.of == asBefore:
			notes = append(notes, fmt.Sprintf("The agent does not take the thread's %s %s any more: %v", w.name, w.value, err))
		default:
			return notes, notTaken(s.a.name, w, is, err)
		}
	}
	for _, w := range list { // another setting may have changed it
		if is, ok := s.m.Setting(w.name); w.name == "mode" && w.of != asBefore && ok && !same(is.Value, w.value) {
			return notes, notTaken(s.a.name, w, is, fmt.Errorf("it is in the mode %s", is.Value))
		}
	}
	return notes, nil
}

// needed reports whether a session without this setting cannot be used. An option that
// a client has chosen may have gone with the agent's version, and one of the agent's
// configuration with the model that a client has chosen.
func needed(w wish, all []wish) bool {
	if w.name == "mode" || w.name == "model" || w.of == byRequest {
		return true
	}
	return w.of == byKey && !slices.ContainsFunc(all, func(w wish) bool { return w.name == "model" && w.of > byKey })
}

// notTaken returns the Problem of an agent that does not take a value that is configured.
func notTaken(agent string, w wish, is mapping.Setting, err error) *Problem {
	what := fmt.Sprintf("the %s %s", w.name, w.value)
	if w.name != "mode" && w.name != "model" {
		what = fmt.Sprintf("%s for the option %q", w.value, w.name)
	}
	p := &Problem{Kind: ProblemSetting}
	if w.of == byKey {
		p.Message = fmt.Sprintf("the agent %s does not take %s, which its configuration asks for", agent, what)
		p.Hint = "Change the agent's configuration"
	} else {
		p.Message = fmt.Sprintf("the agent %s does not take %s, with which the thread is configured", agent, what)
		p.Hint = "Configure the thread with another one"
	}
	if invalid, ok := errors.AsType[*turns.InvalidError](err); ok {
		p.Message += ": " + invalid.Text
		return p
	}
	p.Message += ": " + shorten(err.Error(), 300)
	if len(is.Choices) > 0 {
		p.Message += "; " + choicesOf(is)
	}
	return p
}

// choicesOf describes what an agent offers for a setting.
func choicesOf(is mapping.Setting) string {
	return "the choices are " + shorten(strings.Join(is.Choices, ", "), 500)
}

// waiting returns how much the agent has said in a session that is still held.
func waiting(s *session) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.held {
		return 0
	}
	return len(s.queue)
}

// catchUp takes from the first of these messages what the agent has said of its
// settings: it must not replace, later, what was set since. The session is held, or
// there are none.
func catchUp(s *session, first int) {
	if first == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	s.queue = slices.DeleteFunc(s.queue, func(ev event) bool {
		n++
		if n > first || ev.kind != evUpdate {
			return false
		}
		switch decode[string](member(ev.raw, "sessionUpdate")) {
		case "current_mode_update", "config_option_update":
			s.replayed(ev.raw)
			return true
		}
		return false
	})
}

// opensIn returns the mode in which new sessions open, and a warning if the agent decides in it
// by itself, or may do so, although a person is to be asked. begun is the agent's own mode,
// as far as is known.
func opensIn(c *Config, begun choice) (mode, warning string) {
	is := begun
	if c.Mode != "" && c.Mode != begun.ID {
		is = choice{ID: c.Mode}
	}
	does, known := c.Unasked[is.ID]
	if !known && soundsUnasked(is) {
		does = "may decide by itself what it does (a guess from the words of the mode)"
	}
	if c.Permissions == PermissionsAsk && does != "" {
		name := is.ID
		if is.Name != "" && is.Name != is.ID {
			name += " (" + is.Name + ")"
		}
		warning = fmt.Sprintf("sessions open in the mode %s, in which the agent %s. To be asked, %s", name, does, cmp.Or(c.AskedBy, "choose another one with the key mode"))
	}
	return is.ID, warning
}

// saysByItself are words in the id or name of a mode in which an agent decides by itself
// what it may do.
var saysByItself = []string{
	"auto", "yolo", "bypass", "accept", "full access", "fullaccess", "dont ask", "don t ask", "dontask", "never ask",
	"skip permissions", "danger", "unrestricted", "unattended", "allow all", "approve all",
}

// soundsUnasked reports whether the words of a mode say that the agent asks for less than
// everything in it, or for nothing. It is a guess: the protocol does not say.
func soundsUnasked(mode choice) bool {
	var words strings.Builder
	before := ' '
	for _, r := range mode.ID + " " + mode.Name {
		switch {
		case r >= 'A' && r <= 'Z' && before >= 'a' && before <= 'z': // autoEdit
			words.WriteByte(' ')
		case (r < 'a' || r > 'z') && (r < 'A' || r > 'Z'):
			before = ' '
			words.WriteByte(' ')
			continue
		}
		words.WriteRune(r)
		before = r
	}
	text := " " + strings.ToLower(words.String())
	return slices.ContainsFunc(saysByItself, func(w string) bool { return strings.Contains(text, " "+w) })
}
