package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// asCommand takes a list of words, or a line that is split into words.
func asCommand(v raw) ([]string, error) {
	if text, ok := v.(string); ok {
		return SplitWords(text)
	}
	return asList(v)
}

func asSeconds(v raw) (time.Duration, error) { return asDuration(v, time.Second, "seconds") }

// asTexts takes a table of texts.
func asTexts(v raw) (map[string]string, error) {
	table, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("give a table of texts, not %s", describe(v))
	}
	texts := make(map[string]string, len(table))
	for _, name := range slices.Sorted(maps.Keys(table)) {
		text, err := asText(table[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		texts[name] = text
	}
	return texts, nil
}

// asMCPServers takes a table of tables, one for each server.
func asMCPServers(v raw) ([]MCPServer, error) {
	table, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("give a table for each server: [agents.NAME.mcp_servers.SERVER], not %s", describe(v))
	}
	var servers []MCPServer
	for _, name := range slices.Sorted(maps.Keys(table)) {
		members, ok := table[name].(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%s: give a table with a command or a url, not %s", name, describe(table[name]))
		}
		server := MCPServer{Name: name}
		for _, member := range slices.Sorted(maps.Keys(members)) {
			if err := server.set(member, members[member]); err != nil {
				return nil, fmt.Errorf("%s.%s: %w", name, member, err)
			}
		}
		if err := server.finish(); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		servers = append(servers, server)
	}
	return servers, nil
}

// mcpKeys are the keys of a server's table.
var mcpKeys = []string{"type", "command", "env", "url", "headers"}

func (s *MCPServer) set(name string, v raw) (err error) {
	switch name {
	case "type":
		if s.Type, err = asText(v); err == nil {
			err = oneOf(s.Type, MCPStdio, MCPHTTP, MCPSSE)
		}
	case "command":
		s.Command, err = asCommand(v)
	case "env":
		s.Env, err = asTexts(v)
	case "url":
		s.URL, err = asText(v)
	case "headers":
		s.Headers, err = asTexts(v)
	default:
		err = errors.New("unknown key")
		if guess := nearest(name, mcpKeys); guess != "" {
			err = fmt.Errorf("unknown key; did you mean %s?", guess)
		}
	}
	return err
}

// finish holds the keys against each other: a server is a command or a URL.
func (s *MCPServer) finish() error {
	if s.Type == "" {
		s.Type = MCPStdio
		if s.URL != "" {
			s.Type = MCPHTTP
		}
	}
	switch {
	case s.Type == MCPStdio && (len(s.Command) == 0 || s.Command[0] == ""):
		return errors.New(`give command = ["program", "argument"], or a url for a server that is reached by HTTP`)
	case s.Type == MCPStdio && (s.URL != "" || len(s.Headers) > 0):
		return errors.New("a server with a command has neither url nor headers")
	case s.Type != MCPStdio && s.URL == "":
		return fmt.Errorf("a server of type %s needs a url", s.Type)
	case s.Type != MCPStdio && (len(s.Command) > 0 || len(s.Env) > 0):
		return errors.New("a server with a url has neither command nor env")
	}
	return nil
}
