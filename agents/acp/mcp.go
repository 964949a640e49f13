package acp

import (
	"cmp"
	"maps"
	"slices"
)

// pair is a variable or a header in the form of the protocol.
type pair struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// stdioServer and urlServer are the two forms of a server.
type stdioServer struct {
	Name    string   `json:"name"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
	Env     []pair   `json:"env"`
}

type urlServer struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	URL     string `json:"url"`
	Headers []pair `json:"headers"`
}

// mcpServers returns the servers that a session is opened with. left names the
// servers of a kind that the agent does not accept; it does not get those.
func mcpServers(list []MCPServer, says agentSays) (out []any, left []string) {
	out = []any{} // [], never null
	for _, s := range list {
		kind := cmp.Or(s.Type, "http")
		switch {
		case s.Command != "":
			args := s.Args
			if args == nil {
				args = []string{}
			}
			out = append(out, stdioServer{Name: s.Name, Command: s.Command, Args: args, Env: pairs(s.Env)})
		case kind == "http" && says.mcpHTTP, kind == "sse" && says.mcpSSE:
			out = append(out, urlServer{Type: kind, Name: s.Name, URL: s.URL, Headers: pairs(s.Headers)})
		default:
			left = append(left, s.Name)
		}
	}
	return out, left
}

func pairs(m map[string]string) []pair {
	out := make([]pair, 0, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		out = append(out, pair{name, m[name]})
	}
	return out
}
