package mapping

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/items"
)

// thread maps updates about the thread: its title and its config.
type thread struct {
	out     *output
	config  config
	title   string // as last emitted
	emitted []byte // the config as last emitted; nil = never
}

// Opened maps the result of session/new, session/load, session/resume,
// session/fork or session/set_config_option: modes, models and options with
// their values become the thread's config. It returns nil if nothing changed.
func (s *Session) Opened(result jsontext.Value) []items.Op {
	f, err := fieldsOf(result)
	if err != nil {
		return nil
	}
	s.thread.opened(f)
	return s.out.take()
}

// ModeSet records that the agent has accepted session/set_mode.
func (s *Session) ModeSet(modeID string) []items.Op {
	s.thread.choose("mode", modeID)
	return s.out.take()
}

// ModelSet records that the agent has accepted session/set_model.
func (s *Session) ModelSet(modelID string) []items.Op {
	s.thread.choose("model", modelID)
	return s.out.take()
}

// Config returns the thread's present config, a JSON object; nil as long as nothing
// is known.
func (s *Session) Config() jsontext.Value { return s.thread.encode() }

// opened takes modes, models and options from the result of a method.
func (t *thread) opened(f fields) {
	c := &t.config
	if modes := f.object("modes"); modes != nil {
		c.Modes = choices(modes, "availableModes", "id")
		c.Mode = modes.text("currentModeId")
	}
	if models := f.object("models"); models != nil {
		c.Models = choices(models, "availableModels", "modelId")
		c.Model = models.text("currentModelId")
	}
	if f.has("configOptions") {
		c.setOptions(f, "configOptions")
	}
	t.emit("")
}

// choose takes a mode or model that the agent has accepted.
func (t *thread) choose(category, value string) {
	t.config.choose(category, value)
	t.emit("")
}

// update maps the updates about the thread.
func (t *thread) update(kind string, f fields) (ok bool) {
	title := ""
	switch kind {
	case "current_mode_update":
		mode := f.text("currentModeId", "modeId")
		if ok = mode != ""; ok {
			t.config.choose("mode", mode)
		}
	case "config_option_update":
		ok = t.config.setOptions(f, "configOptions")
	case "available_commands_update":
		ok = t.config.setCommands(f)
	case "session_info_update":
		// A title of null would remove the title; a thread keeps its last one.
		// codex-acp adds extensions several times a turn. They are kept only if
		// raw is.
		title = f.text("title")
		ok = (title != "" || !f.has("title")) && !(t.out.keepRaw && f.has("_meta"))
	}
	t.emit(title)
	return ok
}

// emit emits what has changed.
func (t *thread) emit(title string) {
	var op items.SetThread
	if title != "" && title != t.title {
		op.Title, t.title = title, title
	}
	if now := t.encode(); now != nil && !bytes.Equal(now, t.emitted) {
		op.Config, t.emitted = items.Raw(now), now
	}
	if op.Title != "" || op.Config != nil {
		t.out.emit(op)
	}
}

// restore starts with the config in the log.
func (t *thread) restore(raw jsontext.Value) {
	if !present(raw) || unmarshal(raw, &t.config) != nil {
		t.config = config{}
		return
	}
	t.emitted = t.encode()
}

// encode returns the config with its members always in the same order; nil if it is
// empty.
func (t *thread) encode() jsontext.Value {
	b, err := json.Marshal(&t.config, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil || string(b) == "{}" && t.emitted == nil {
		return nil
	}
	return b
}
