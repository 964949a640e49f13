package config

import (
	"cmp"
	"fmt"
	"strings"
)

// short applies the short form of agents, from the flags or the variable:
// NAME=KIND[:COMMAND] defines one, NAME chooses a configured one or a preset.
//
// An agent on the command line is meant to be used. So the first plain NAME is
// the default agent, else the first defined one. A default_agent from the same
// origin takes precedence.
func (l *Loaded) short(definitions []string, source Source) error {
	chosen, defined := "", ""
	for _, definition := range definitions {
		name, agent, err := l.define(definition)
		if err != nil {
			return &Error{Key: "agents." + name, Source: source, Text: err.Error()}
		}
		if agent != nil {
			l.Agents[name] = *agent
			l.Sources["agents."+name] = source
		}
		if name == definition && chosen == "" {
			chosen = name
		} else if defined == "" {
			defined = name
		}
	}
	chosen = cmp.Or(chosen, defined)
	if chosen != "" && l.Sources["default_agent"].Origin != source.Origin {
		l.DefaultAgent = chosen
		l.Sources["default_agent"] = source
	}
	return nil
}

// define reads one definition. The agent is nil if the definition only names
// one. Validate reports a name that does not exist.
func (l *Loaded) define(definition string) (name string, agent *Agent, err error) {
	name, rest, defines := strings.Cut(definition, "=")
	a := newAgent()
	if !defines {
		_, configured := l.Agents[name]
		if _, ok := PresetOf(name); !ok || configured {
			return name, nil, nil
		}
		a.Kind = KindACP
		a = a.finished(name)
		return name, &a, nil
	}
	kind, command, _ := strings.Cut(rest, ":")
	a.Kind = kind
	switch kind {
	case KindEcho, KindWorker:
	case KindExec, KindACP:
		if a.Command, err = SplitWords(command); err != nil {
			return name, nil, err
		}
	default:
		return name, nil, fmt.Errorf("%s is no kind of agent; write %s=acp:COMMAND, %s=exec:COMMAND, %s=worker or %s=echo", quote(kind), name, name, name, name)
	}
	a = a.finished(name)
	return name, &a, nil
}
