package mockmodel

import (
	"fmt"
	"slices"
	"strings"
)

// What the scripted calls do. The command writes a file, so no agent takes it for a
// read-only command; the file has a line for each time that it ran.
const (
	shellCommand = "echo hello-from-tool && echo done >> tool-was-here.txt"
	// hangCommand writes its pid to a file, so that a test can see that it has
	// ended.
	hangCommand        = "echo $$ > hanging-pid.txt && exec sleep 600"
	environmentCommand = "env -0 > environment.txt"
	fileText           = "written by the mock model\n"
)

// The tools of the agents, the preferred ones first. Case does not matter.
var (
	shellTools = []string{"bash", "exec_command", "shell_command", "shell", "local_shell", "run_shell_command"}
	writeTools = []string{"write", "write_file", "apply_patch", "exec_command"}
	planTools  = []string{"todowrite", "update_plan", "write_todos"}
	askTools   = []string{"askuserquestion", "question", "request_user_input", "ask_user"}
)

// use returns the call that the prompt wants and the text before it. It returns
// a nil call if the prompt wants none or the agent has no such tool.
func (q question) use() (*call, []string) {
	switch {
	case hangWord.MatchString(q.said):
		return shellCall(q.pick(shellTools), hangCommand), []string{"I will run ", "a long command. "}
	case environmentWord.MatchString(q.said):
		return shellCall(q.pick(shellTools), environmentCommand), []string{"I will run ", "a command. "}
	case toolWord.MatchString(q.said):
		return shellCall(q.pick(shellTools), shellCommand), []string{"I will run ", "a command. "}
	case planWord.MatchString(q.said):
		return planCall(q.pick(planTools)), []string{"I will make ", "a plan. "}
	case askWord.MatchString(q.said):
		return askCall(q.pick(askTools)), []string{"I have ", "a question. "}
	}
	if path := writePath.FindStringSubmatch(q.said); path != nil {
		return writeCall(q.pick(writeTools), path[1]), []string{"I will write ", "a file. "}
	}
	return nil, nil
}

// pick returns the first of names that the agent offers, or nil.
func (q question) pick(names []string) *tool {
	for _, name := range names {
		i := slices.IndexFunc(q.tools, func(t tool) bool { return strings.EqualFold(t.name, name) })
		if i >= 0 {
			return &q.tools[i]
		}
	}
	return nil
}

func shellCall(t *tool, command string) *call {
	if t == nil {
		return nil
	}
	args := map[string]any{"command": command, "description": "Try the shell"}
	switch strings.ToLower(t.name) {
	case "exec_command":
		// Inside its sandbox the agent would not ask for permission.
		args = map[string]any{"cmd": command, "sandbox_permissions": "require_escalated", "justification": "May I run this outside the sandbox?"}
	case "shell_command":
		args = map[string]any{"command": command, "sandbox_permissions": "require_escalated", "justification": "May I run this outside the sandbox?"}
	case "shell", "local_shell":
		args = map[string]any{"command": []string{"bash", "-c", command}}
	}
	return &call{tool: *t, args: args}
}

func writeCall(t *tool, path string) *call {
	if t == nil {
		return nil
	}
	c := &call{tool: *t}
	patch := fmt.Sprintf("*** Begin Patch\n*** Add File: %s\n+%s*** End Patch", path, fileText)
	switch name := strings.ToLower(t.name); {
	case name == "exec_command":
		c.args = map[string]any{"cmd": "apply_patch <<'EOF'\n" + patch + "\nEOF"}
	case name == "apply_patch" && t.freeform:
		c.input = patch
	case name == "apply_patch":
		c.args = map[string]any{"input": patch}
	case name == "write": // two agents spell it differently; both refuse other members
		key := "filePath"
		if t.name == "Write" {
			key = "file_path"
		}
		c.args = map[string]any{key: path, "content": fileText}
	default:
		c.args = map[string]any{"file_path": path, "content": fileText}
	}
	return c
}

func planCall(t *tool) *call {
	if t == nil {
		return nil
	}
	steps := []struct{ text, status string }{{"look around", "completed"}, {"do the work", "in_progress"}, {"look again", "pending"}}
	key, list := "todos", make([]map[string]any, 0, len(steps))
	for _, s := range steps {
		entry := map[string]any{"status": s.status}
		switch strings.ToLower(t.name) {
		case "update_plan":
			key, entry["step"] = "plan", s.text
		case "write_todos":
			entry["description"] = s.text
		default:
			entry["content"] = s.text
			if t.name == "TodoWrite" {
				entry["activeForm"] = s.text
			} else {
				entry["priority"] = "medium"
			}
		}
		list = append(list, entry)
	}
	return &call{tool: *t, args: map[string]any{key: list}}
}

// askCall asks for one of two colours. The tools have similar arguments and
// ignore unknown members.
func askCall(t *tool) *call {
	if t == nil {
		return nil
	}
	question := map[string]any{
		"question": "Which colour is it to be?", "header": "Colour",
		"options": []any{
			map[string]any{"label": "red", "description": "As a rose"},
			map[string]any{"label": "blue", "description": "As the sky"},
		},
	}
	switch strings.ToLower(t.name) {
	case "request_user_input":
		question["id"] = "colour"
	case "ask_user":
		question["type"] = "choice"
	default:
		question["multiSelect"] = false
	}
	return &call{tool: *t, args: map[string]any{"questions": []any{question}}}
}
