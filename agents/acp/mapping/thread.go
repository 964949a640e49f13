package mapping

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/items"
)

// Opened maps the result of session/new, session/load, session/resume,
// session/fork or session/set_config_option: modes, models and options with
// their values become the thread's config. It returns nil if nothing changed.
func (s *Session) Opened(result jsontext.Value) []items.Op { return nil }

// ModeSet says that the agent has accepted session/set_mode.
func (s *Session) ModeSet(modeID string) []items.Op { return nil }

// ModelSet says that the agent has accepted session/set_model.
func (s *Session) ModelSet(modelID string) []items.Op { return nil }

// Config is the thread's config as it is now, a JSON object; nil as long as
// nothing is known.
func (s *Session) Config() jsontext.Value { return nil }

// Setting is how a setting of the session is changed.
type Setting struct {
	// Via is the method: session/set_mode {modeId}, session/set_model
	// {modelId} or session/set_config_option {configId, value}.
	Via string
	// ConfigID is set for session/set_config_option.
	ConfigID string
	// Boolean says that the value is true or false; else it is a string, one
	// of Choices.
	Boolean bool
	Choices []string
	// Value is what is in force, nil = not known.
	Value jsontext.Value
}

// Setting finds the setting of this name: "mode", "model" or the id of one of
// the agent's options. ok is false if the agent has none of that name.
func (s *Session) Setting(name string) (set Setting, ok bool) { return Setting{}, false }
