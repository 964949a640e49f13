package mapping

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/items"
)

// Setting is how a setting of the session is changed.
type Setting struct {
	// Name is mode or model, also for the option that says them; else the id of an
	// option.
	Name string
	// Via is the method: session/set_mode {modeId}, session/set_model
	// {modelId} or session/set_config_option {configId, value}.
	Via string
	// ConfigID is set for session/set_config_option.
	ConfigID string
	// Boolean says that the value is true or false; else it is a string, one
	// of Choices.
	Boolean bool
	Choices []string
	// Value is the present value, nil = unknown.
	Value jsontext.Value
}

// Setting finds the setting of this name: "mode", "model" or the id of one of
// the agent's options. ok is false if the agent has none of that name. If an
// agent offers the same as an option, the option is used.
func (s *Session) Setting(name string) (set Setting, ok bool) {
	c := &s.thread.config
	for i, o := range c.OptionChoices {
		if o.ID != name && (o.Category != name || name != "mode" && name != "model") {
			continue
		}
		set = Setting{
			Name: c.nameOf(i), Via: "session/set_config_option", ConfigID: o.ID, Boolean: o.Type == "boolean", Value: c.Options[o.ID],
		}
		for _, v := range o.Choices {
			set.Choices = append(set.Choices, v.Value)
		}
		return set, true
	}
	value, all := c.Mode, c.Modes
	set.Name, set.Via = name, "session/set_mode"
	if name == "model" {
		value, all, set.Via = c.Model, c.Models, "session/set_model"
	} else if name != "mode" {
		return Setting{}, false
	}
	for _, ch := range all {
		set.Choices = append(set.Choices, ch.ID)
	}
	if value != "" {
		set.Value, _ = jsontext.AppendQuote(nil, value) // it was decoded, so it is UTF-8
	}
	return set, len(all) > 0
}

// Configured records in the thread's config that a client has chosen the value of
// this setting.
func (s *Session) Configured(name string) []items.Op {
	c := &s.thread.config
	if set, ok := s.Setting(name); ok {
		name = set.Name
	}
	if i, found := slices.BinarySearch(c.Configured, name); !found {
		c.Configured = slices.Insert(c.Configured, i, name)
	}
	s.thread.emit("")
	return s.out.take()
}

// nameOf returns the Name of the Setting of an option: the first option of category mode
// or model says the thread's.
func (c *config) nameOf(i int) string {
	o := c.OptionChoices[i]
	first := slices.IndexFunc(c.OptionChoices, func(other option) bool { return other.Category == o.Category })
	if (o.Category == "mode" || o.Category == "model") && first == i {
		return o.Category
	}
	return o.ID
}

// SettingNames returns the names that Setting knows.
func (s *Session) SettingNames() (names []string) {
	c := &s.thread.config
	for i := range c.OptionChoices {
		names = append(names, c.nameOf(i))
	}
	for name, some := range map[string]bool{"mode": c.Mode != "" || len(c.Modes) > 0, "model": c.Model != "" || len(c.Models) > 0} {
		if some && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
