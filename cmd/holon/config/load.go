package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/seed82539d15/holon/agents/process"
	"github.com/seed82539d15/holon/internal/nearest"
)

// Names of flags and variables that are not settings themselves.
const (
	fileFlag  = "config"
	agentFlag = "agent"
	fileEnv   = "HOLON_CONFIG"
	agentEnv  = "HOLON_AGENT"
)

// notSettings are the HOLON_* variables that are no settings: where a client
// finds the server, and what the process of an agent is told.
var notSettings = []string{"HOLON_URL", "HOLON_PLAIN", "HOLON_TOKEN", "HOLON_MCP_URL", "HOLON_THREAD_ID", "HOLON_TURN_ID", "HOLON_ATTEMPT", "HOLON_ORIGIN", process.EnvGroup, fileEnv, agentEnv}

// Loaded is a configuration with the source of each value.
type Loaded struct {
	*Config
	// Sources has an entry for every key, for every table ("agents.NAME"), and for
	// every key of a table that is given in the file.
	Sources map[string]Source
	// File is the file that was read, "" if there was none.
	File string
	// Warnings are sentences for the person who started the command.
	Warnings []string
}

// BindCommon adds the flags of the settings that every subcommand takes, and
// --config.
func BindCommon(flags *pflag.FlagSet) {
	flags.String(fileFlag, "", "configuration file (default "+shown(defaultFile())+" if it exists)")
	for _, key := range Keys {
		if key.Common {
			bind(flags, key)
		}
	}
}

// Bind adds the flags of all other settings, and --agent.
func Bind(flags *pflag.FlagSet) {
	for _, key := range Keys {
		if !key.Common {
			bind(flags, key)
		}
	}
	BindAgent(flags)
}

// BindAgent adds --agent.
func BindAgent(flags *pflag.FlagSet) {
	flags.StringArray(agentFlag, nil, "an agent: NAME of a configured one or of a preset ("+presetNames()+"), NAME=acp:COMMAND, NAME=exec:COMMAND, NAME=worker or NAME=echo; the first is the default; repeatable")
}

// Load reads file, environment and flags in that order over the defaults. flags
// may lack any of the flags; environ has the form of os.Environ. The error is
// an *Error.
func Load(flags *pflag.FlagSet, environ []string) (*Loaded, error) {
	l := &Loaded{Config: Defaults(), Sources: map[string]Source{}}
	for _, key := range Keys {
		l.Sources[key.Name] = Source{Origin: FromDefault}
	}
	env := variables(environ)
	path, named := l.filePath(flags, env)
	if path != "" {
		_, err := os.Stat(path)
		if named || err == nil || !errors.Is(err, fs.ErrNotExist) {
			if err := l.readFile(path); err != nil {
				return nil, err
			}
		}
	}
	if err := l.readEnv(env); err != nil {
		return nil, err
	}
	if err := l.readFlags(flags); err != nil {
		return nil, err
	}
	if l.Data != "" {
		data, err := filepath.Abs(l.Data)
		if err != nil {
			return nil, &Error{Key: "data", Source: l.Sources["data"], Text: err.Error()}
		}
		l.Data = data
	}
	return l, nil
}

// filePath returns the configuration file and whether the user named it.
func (l *Loaded) filePath(flags *pflag.FlagSet, env map[string]string) (path string, named bool) {
	if flags != nil {
		if flag := flags.Lookup(fileFlag); flag != nil && flag.Changed {
			return flag.Value.String(), true
		}
	}
	if path := env[fileEnv]; path != "" {
		return path, true
	}
	return defaultFile(), false
}

// variables picks the HOLON_* variables; the last one of a name wins, as in the
// system.
func variables(environ []string) map[string]string {
	env := map[string]string{}
	for _, entry := range environ {
		if name, value, ok := strings.Cut(entry, "="); ok && strings.HasPrefix(name, "HOLON_") {
			env[name] = value
		}
	}
	return env
}

func (l *Loaded) readEnv(env map[string]string) error {
	known := slices.Clone(notSettings)
	for _, key := range Keys {
		known = append(known, key.Env())
		value, ok := env[key.Env()]
		// An empty variable is how shells and unit files unset a setting.
		if !ok || value == "" {
			continue
		}
		source := Source{Origin: FromEnv, Place: key.Env()}
		if err := key.set(l.Config, value); err != nil {
			return &Error{Key: key.Name, Source: source, Text: err.Error()}
		}
		l.Sources[key.Name] = source
	}
	if definition := env[agentEnv]; definition != "" {
		if err := l.short([]string{definition}, Source{Origin: FromEnv, Place: agentEnv}); err != nil {
			return err
		}
	}
	var unknown []string
	for name := range env {
		if !slices.Contains(known, name) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	for _, name := range unknown {
		text := fmt.Sprintf("%s is set but is no setting of holon", name)
		if guess := nearest.Of(strings.TrimPrefix(name, "HOLON_"), lowerNames()); guess != "" {
			text += "; did you mean HOLON_" + strings.ToUpper(guess) + "?"
		}
		l.Warnings = append(l.Warnings, text)
	}
	return nil
}

// lowerNames returns the names of the settings' variables, in lower case.
func lowerNames() []string {
	var all []string
	for _, key := range Keys {
		all = append(all, strings.ReplaceAll(key.Name, ".", "_"))
	}
	return all
}

func (l *Loaded) readFlags(flags *pflag.FlagSet) error {
	if flags == nil {
		return nil
	}
	for _, key := range Keys {
		flag := flags.Lookup(key.Flag())
		if flag == nil || !flag.Changed {
			continue
		}
		value, ok := flag.Value.(*flagValue)
		if !ok {
			continue // a flag of the same name with another meaning
		}
		source := Source{Origin: FromFlag, Place: "--" + key.Flag()}
		if err := key.set(l.Config, value.given); err != nil {
			return &Error{Key: key.Name, Source: source, Text: err.Error()}
		}
		l.Sources[key.Name] = source
	}
	flag := flags.Lookup(agentFlag)
	if flag == nil || !flag.Changed {
		return nil
	}
	definitions, err := flags.GetStringArray(agentFlag)
	if err != nil {
		return nil // --agent of run is one name and no setting
	}
	return l.short(definitions, Source{Origin: FromFlag, Place: "--agent"})
}

// flagValue is a flag that keeps its text; the key parses it.
type flagValue struct {
	key   Setting
	given []string
}

func bind(flags *pflag.FlagSet, key Setting) {
	flag := flags.VarPF(&flagValue{key: key}, key.Flag(), "", key.Help)
	if key.Type == Bool {
		flag.NoOptDefVal = "true"
	}
}

// String shows the default in help texts.
func (f *flagValue) String() string {
	if f.given != nil {
		return strings.Join(f.given, ",")
	}
	if f.key.get == nil {
		return ""
	}
	return Show(f.key.Value(Defaults()))
}

// Set keeps a value. Values of a list add up; for every other type the last one
// counts.
func (f *flagValue) Set(value string) error {
	if f.key.Type == List {
		f.given = append(f.given, value)
	} else {
		f.given = []string{value}
	}
	return f.key.set(Defaults(), f.given)
}

// Type names the value in help texts.
func (f *flagValue) Type() string {
	switch f.key.Type {
	case Bool:
		return "bool" // pflag then shows no placeholder
	case Number, Size, Seconds, Days:
		return "N"
	case List:
		return "LIST"
	}
	return "TEXT"
}

func shown(path string) string {
	if path == "" {
		return "none: there is no home directory"
	}
	return path
}
