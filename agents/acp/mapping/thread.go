package mapping

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/items"
)

// config is the thread's config object (docs/agents.md): what is in force, and
// what can be chosen.
type config struct {
	Mode          string                    `json:"mode,omitzero"`
	Model         string                    `json:"model,omitzero"`
	Options       map[string]jsontext.Value `json:"options,omitempty"`
	Modes         []choice                  `json:"modes,omitempty"`
	Models        []choice                  `json:"models,omitempty"`
	OptionChoices []option                  `json:"option_choices,omitempty"`
	Commands      []agentCommand            `json:"commands,omitempty"`

	title   string
	emitted []byte
}

type choice struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description,omitzero"`
}

// option is a setting of the agent's own. Type is select, with Choices, or
// boolean.
type option struct {
	ID          string        `json:"id"`
	Name        string        `json:"name"`
	Description string        `json:"description,omitzero"`
	Category    string        `json:"category,omitzero"`
	Type        string        `json:"type"`
	Choices     []optionValue `json:"choices,omitempty"`
}

type optionValue struct {
	Value       string `json:"value"`
	Name        string `json:"name"`
	Description string `json:"description,omitzero"`
	Group       string `json:"group,omitzero"`
}

type agentCommand struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Hint        string `json:"hint,omitzero"` // what to write after the name
}

// Opened maps the result of session/new, session/load, session/resume,
// session/fork or session/set_config_option: modes, models and options with
// their values become the thread's config. It returns nil if nothing changed.
func (s *Session) Opened(result jsontext.Value) []items.Op {
	f, err := fieldsOf(result)
	if err != nil {
		return nil
	}
	c := &s.config
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
	s.setThread("")
	return s.take()
}

// ModeSet says that the agent has accepted session/set_mode.
func (s *Session) ModeSet(modeID string) []items.Op {
	s.config.choose("mode", modeID)
	s.setThread("")
	return s.take()
}

// ModelSet says that the agent has accepted session/set_model.
func (s *Session) ModelSet(modelID string) []items.Op {
	s.config.choose("model", modelID)
	s.setThread("")
	return s.take()
}

// Config is the thread's config as it is now, a JSON object; nil as long as
// nothing is known.
func (s *Session) Config() jsontext.Value { return s.config.encode() }

// aboutThread maps the updates that say something of the thread.
func (s *Session) aboutThread(kind string, f fields) (ok bool) {
	title := ""
	switch kind {
	case "current_mode_update":
		mode := f.text("currentModeId", "modeId")
		if ok = mode != ""; ok {
			s.config.choose("mode", mode)
		}
	case "config_option_update":
		ok = s.config.setOptions(f, "configOptions")
	case "available_commands_update":
		ok = s.config.setCommands(f)
	case "session_info_update":
		// A title of null takes the title away; a thread keeps the one it had.
		// What codex-acp puts beside the protocol, several times a turn, is kept
		// like all of that: only if raw is.
		title = f.text("title")
		ok = (title != "" || !f.has("title")) && !(s.o.KeepRaw && f.has("_meta"))
	}
	s.setThread(title)
	return ok
}

// setThread tells what has changed.
func (s *Session) setThread(title string) {
	var op items.SetThread
	if title != "" && title != s.config.title {
		op.Title, s.config.title = title, title
	}
	if now := s.config.encode(); now != nil && !bytes.Equal(now, s.config.emitted) {
		op.Config, s.config.emitted = items.Raw(now), now
	}
	if op.Title != "" || op.Config != nil {
		s.emit(op)
	}
}

func (c *config) restore(raw jsontext.Value) {
	if !present(raw) || unmarshal(raw, c) != nil {
		*c = config{}
		return
	}
	c.emitted = c.encode()
}

// encode is the config with its members always in the same order; nil if it
// says nothing.
func (c *config) encode() jsontext.Value {
	b, err := json.Marshal(c, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil || string(b) == "{}" && c.emitted == nil {
		return nil
	}
	return b
}

// choose sets the mode or model, and the option that says the same.
func (c *config) choose(category, value string) {
	if category == "mode" {
		c.Mode = value
	} else {
		c.Model = value
	}
	for _, o := range c.OptionChoices {
		if o.Category != category {
			continue
		}
		for _, v := range o.Choices {
			if v.Value == value {
				if c.Options == nil {
					c.Options = map[string]jsontext.Value{}
				}
				c.Options[o.ID], _ = jsontext.AppendQuote(nil, value) // it was decoded, so it is UTF-8
			}
		}
	}
}

// setOptions takes the whole list of options. An option of category mode or
// model says what is in force, and what there is if nothing else does.
func (c *config) setOptions(f fields, name string) bool {
	list, ok := f.list(name)
	if !ok {
		return false
	}
	var options []option
	values := map[string]jsontext.Value{}
	for _, o := range c.OptionChoices { // what an option said goes with it
		switch o.Category {
		case "mode":
			c.Mode, c.Modes = "", nil
		case "model":
			c.Model, c.Models = "", nil
		}
	}
	told := map[string]bool{}
	for _, raw := range list {
		of, err := fieldsOf(raw)
		o := option{
			ID: of.text("id", "configId"), Name: of.text("name"), Description: of.text("description"),
			Category: of.text("category"), Type: of.text("type"),
		}
		if err != nil || o.ID == "" {
			ok = false
			continue
		}
		o.Choices = optionValues(of, "")
		if o.Type == "" {
			o.Type = "select"
		}
		if o.Name == "" {
			o.Name = o.ID
		}
		options = append(options, o)
		if of.has("currentValue") {
			values[o.ID] = clean(of["currentValue"])
		}
		if !told[o.Category] {
			told[o.Category] = true
			c.follow(o, of.text("currentValue"))
		}
	}
	c.OptionChoices, c.Options = options, values
	return ok
}

// follow takes over what an option says of mode or model.
func (c *config) follow(o option, value string) {
	if value == "" {
		return
	}
	var all []choice
	for _, v := range o.Choices {
		all = append(all, choice{ID: v.Value, Name: v.Name, Description: v.Description})
	}
	switch o.Category {
	case "mode":
		c.Mode, c.Modes = value, all
	case "model":
		c.Model, c.Models = value, all
	}
}

func optionValues(f fields, group string) []optionValue {
	list, _ := f.list("options")
	var values []optionValue
	for _, raw := range list {
		vf, err := fieldsOf(raw)
		switch {
		case err != nil:
		case vf.has("options") && group == "":
			name := vf.text("name", "groupId", "group")
			if name == "" {
				name = "other"
			}
			values = append(values, optionValues(vf, name)...)
		case vf.text("value") != "":
			v := optionValue{Value: vf.text("value"), Name: vf.text("name", "value"), Description: vf.text("description"), Group: group}
			values = append(values, v)
		}
	}
	return values
}

func (c *config) setCommands(f fields) bool {
	list, ok := f.list("availableCommands")
	if !ok {
		return false
	}
	commands := []agentCommand{}
	for _, raw := range list {
		cf, err := fieldsOf(raw)
		if err != nil || cf.text("name") == "" {
			ok = false
			continue
		}
		commands = append(commands, agentCommand{
			Name: cf.text("name"), Description: cf.text("description"), Hint: cf.object("input").text("hint"),
		})
	}
	c.Commands = commands
	return ok
}

func choices(f fields, list, id string) []choice {
	l, _ := f.list(list)
	var all []choice
	for _, raw := range l {
		cf, err := fieldsOf(raw)
		if err == nil && cf.text(id) != "" {
			all = append(all, choice{ID: cf.text(id), Name: cf.text("name", id), Description: cf.text("description")})
		}
	}
	return all
}
