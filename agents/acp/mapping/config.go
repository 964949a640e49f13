package mapping

import (
	"cmp"

	"github.com/go-json-experiment/json/jsontext"
)

// config is the thread's config object (docs/agents-reference.md): the present values and
// the possible ones.
type config struct {
	Mode          string                    `json:"mode,omitzero"`
	Model         string                    `json:"model,omitzero"`
	Options       map[string]jsontext.Value `json:"options,omitempty"`
	Modes         []choice                  `json:"modes,omitempty"`
	Models        []choice                  `json:"models,omitempty"`
	OptionChoices []option                  `json:"option_choices,omitempty"`
	Commands      []agentCommand            `json:"commands,omitempty"`
	Configured    []string                  `json:"configured,omitempty"` // what a client has chosen: mode, model, ids of options; sorted
}

type choice struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description,omitzero"`
}

// option is a setting that the agent defines. Type is select, with Choices, or
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

// choose sets the mode or model, and the option with the same meaning.
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
// model also sets the thread's mode or model and their possible values.
func (c *config) setOptions(f fields, name string) bool {
	list, ok := f.list(name)
	if !ok {
		return false
	}
	var options []option
	values := map[string]jsontext.Value{}
	for _, o := range c.OptionChoices { // values from options are removed with them
		switch o.Category {
		case "mode":
			c.Mode, c.Modes = "", nil
		case "model":
			c.Model, c.Models = "", nil
		}
	}
	seen := map[string]bool{}
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
		o.Type = cmp.Or(o.Type, "select")
		o.Name = cmp.Or(o.Name, o.ID)
		options = append(options, o)
		if of.has("currentValue") {
			values[o.ID] = clean(of["currentValue"])
		}
		if !seen[o.Category] {
			seen[o.Category] = true
			c.follow(o, of.text("currentValue"))
		}
	}
	c.OptionChoices, c.Options = options, values
	return ok
}

// follow takes over the mode or model of an option.
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
			values = append(values, optionValues(vf, cmp.Or(vf.text("name", "groupId", "group"), "other"))...)
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
