package acp

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/turns"
)

// protocolVersion is the version in use.
const (
	protocolVersion = 1
	protocolOne     = "acp/1"
)

// agentSays is an agent's answer to initialize.
type agentSays struct {
	name, version string
	protocol      string

	images, load, resume, fork, closes, steering bool
	mcpHTTP, mcpSSE                              bool
	tellsLogin                                   bool // by methodAuthStatus
	claudeCode                                   bool // takes _meta.claudeCode where a session is opened

	auth []authMethod
}

// authMethod is a way to log in.
type authMethod struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
}

// capabilities as the protocol writes them. A member of the wrong type counts
// as absent and does not spoil the others.
type capabilities struct {
	Load    jsontext.Value `json:"loadSession"`
	Prompt  jsontext.Value `json:"promptCapabilities"`
	MCP     jsontext.Value `json:"mcpCapabilities"`
	Session jsontext.Value `json:"sessionCapabilities"`
	Meta    jsontext.Value `json:"_meta"`
}

// clientMeta announces the extensions of the protocol that are read here.
type clientMeta struct {
	// With the second extension alone, Codex sends no output of commands.
	TerminalOutputDelta bool `json:"terminal_output_delta"`
	Jetbrains           struct {
		Air airExtension `json:"air"`
	} `json:"jetbrains"`
}

// airExtension has agents say in the result of a prompt that their model failed. Without
// it Codex ends such a prompt like any other.
type airExtension struct {
	Version      int      `json:"version"`
	Capabilities []string `json:"capabilities"`
}

// initialize makes the connection usable: it must be the first request.
func (pr *proc) initialize(ctx context.Context) (agentSays, error) {
	type fs struct {
		Read  bool `json:"readTextFile"`
		Write bool `json:"writeTextFile"`
	}
	type elicitation struct {
		Form struct{} `json:"form"`
		URL  struct{} `json:"url"`
	}
	var params struct {
		Version int `json:"protocolVersion"`
		// The agent uses its own files and terminals: it runs on the server's
		// machine, and the log has what it reports of them.
		Capabilities struct {
			FS          fs          `json:"fs"`
			Terminal    bool        `json:"terminal"`
			Elicitation elicitation `json:"elicitation"`
			Meta        clientMeta  `json:"_meta"`
		} `json:"clientCapabilities"`
		Info struct {
			Name    string `json:"name"`
			Title   string `json:"title"`
			Version string `json:"version"`
		} `json:"clientInfo"`
	}
	params.Version = protocolVersion
	params.Capabilities.Meta.TerminalOutputDelta = true
	params.Capabilities.Meta.Jetbrains.Air = airExtension{Version: 1, Capabilities: []string{"sessionFailure"}}
	params.Info.Name, params.Info.Title, params.Info.Version = "holon", "Holon", cmp.Or(pr.a.cfg.ClientVersion, "dev")
	result, err := pr.peer.call(ctx, methodInitialize, params, pr.a.cfg.StartTimeout, nil)
	if err != nil {
		return agentSays{}, err
	}
	return readInitialize(result)
}

func readInitialize(result jsontext.Value) (agentSays, error) {
	var r struct {
		Version      jsontext.Value `json:"protocolVersion"`
		Info         jsontext.Value `json:"agentInfo"`
		Capabilities jsontext.Value `json:"agentCapabilities"`
		Auth         jsontext.Value `json:"authMethods"`
		Meta         jsontext.Value `json:"_meta"`
	}
	if err := json.Unmarshal(result, &r, lenient); err != nil {
		return agentSays{}, &Problem{Kind: ProblemProtocol, Message: "the agent's answer to initialize is not as the Agent Client Protocol says"}
	}
	if v := strings.Trim(string(r.Version), `"`); v != fmt.Sprint(protocolVersion) {
		return agentSays{}, &Problem{
			Kind:    ProblemProtocol,
			Message: fmt.Sprintf("the agent speaks version %s of the Agent Client Protocol, and version %d is needed", shorten(v, 32), protocolVersion),
			Hint:    "Install a version of the agent that speaks it",
		}
	}
	says := agentSays{protocol: protocolOne}
	info := decode[struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}](r.Info)
	says.name, says.version = shorten(info.Name, 128), shorten(info.Version, 128)
	c := decode[capabilities](r.Capabilities)
	says.load = offers(c.Load)
	says.images = offers(member(c.Prompt, "image"))
	says.mcpHTTP, says.mcpSSE = offers(member(c.MCP, "http")), offers(member(c.MCP, "sse"))
	says.resume, says.fork = offers(member(c.Session, "resume")), offers(member(c.Session, "fork"))
	says.closes = offers(member(c.Session, "close"))
	says.claudeCode = offers(member(c.Meta, "claudeCode"))
	says.tellsLogin = offers(member(c.Meta, "authStatus"))
	for _, meta := range []jsontext.Value{r.Meta, c.Meta} {
		says.steering = says.steering || offers(member(member(meta, "steering"), "supported"))
	}
	for _, raw := range decode[[]jsontext.Value](r.Auth) {
		if m := decode[authMethod](raw); m.ID != "" || m.Name != "" {
			says.auth = append(says.auth, m)
		}
	}
	return says, nil
}

// turns returns the capabilities that agent/list shows.
func (s agentSays) turns() turns.AgentCapabilities {
	return turns.AgentCapabilities{Steering: s.steering, Load: s.load, Resume: s.resume, Fork: s.fork, Images: s.images}
}

// login describes how to log in, for a person.
func (s agentSays) login() string {
	if len(s.auth) == 0 {
		return "Log in with the agent's own command, then try again"
	}
	var ways []string
	for _, m := range s.auth {
		way := cmp.Or(m.Name, m.ID)
		if m.Description != "" {
			way += " (" + m.Description + ")"
		}
		ways = append(ways, shorten(way, 256))
	}
	return "Log in with the agent's own command: it offers " + strings.Join(ways, "; ")
}

// decode decodes raw; a value of another type becomes the zero value.
func decode[T any](raw jsontext.Value) T {
	var v T
	if len(raw) == 0 || json.Unmarshal(raw, &v, lenient) != nil {
		var zero T
		return zero
	}
	return v
}

// member returns a member of an object, nil if there is none.
func member(object jsontext.Value, name string) jsontext.Value {
	return decode[map[string]jsontext.Value](object)[name]
}

// offers reports whether a capability is present: an object, even an empty one,
// or true.
func offers(v jsontext.Value) bool {
	switch v.Kind() {
	case jsontext.KindBeginObject, jsontext.KindTrue:
		return true
	}
	return false
}
