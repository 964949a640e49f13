package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/seed82539d15/holon/agents/acp"
)

// asCommand accepts a list of words, or a line that is split into words.
func asCommand(v raw) ([]string, error) {
	if text, ok := v.(string); ok {
		return SplitWords(text)
	}
	return asList(v)
}

// asTexts accepts a table of texts.
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

// asOptions accepts a table of texts, true and false.
func asOptions(v raw) (map[string]any, error) {
	table, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("give a table of texts, true or false, not %s", describe(v))
	}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		switch table[name].(type) {
		case string, bool:
		default:
			return nil, fmt.Errorf("%s: give a text, true or false, not %s", name, describe(table[name]))
		}
	}
	return table, nil
}

// asMCPServers accepts a table of tables, one for each server.
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
			key, ok := lookup(mcpKeys, member)
			if !ok {
				return nil, fmt.Errorf("%s.%s: %s", name, member, unknownKey(member, keyNames(mcpKeys)))
			}
			if err := key.set(&server, members[member]); err != nil {
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
var mcpKeys = []Key[MCPServer]{
	text("type", "stdio, http or sse", func(s *MCPServer) *string { return &s.Type }),
	command("command", "the program and its arguments, of stdio", func(s *MCPServer) *[]string { return &s.Command }),
	secrets("env", "variables of the program", func(s *MCPServer) *map[string]string { return &s.Env }),
	text("url", "where the server is, of http and sse", func(s *MCPServer) *string { return &s.URL }),
	secrets("headers", "sent with each request, of http and sse", func(s *MCPServer) *map[string]string { return &s.Headers }),
}

// finish checks that the keys fit together: a server is a command or a URL.
func (s *MCPServer) finish() error {
	if err := acp.CheckServerName(s.Name); err != nil {
		return err
	}
	if s.Type == "" {
		s.Type = MCPStdio
		if s.URL != "" {
			s.Type = MCPHTTP
		}
	}
	if err := member("type", oneOf(s.Type, MCPStdio, MCPHTTP, MCPSSE)); err != nil {
		return err
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
