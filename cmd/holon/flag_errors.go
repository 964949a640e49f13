package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/internal/nearest"
	"github.com/seed82539d15/holon/rpc/client"
)

// explainFlag explains what is wrong with a flag of a command line. Another error is
// returned as it is.
func explainFlag(cmd *cobra.Command, args []string, err error) error {
	unknown, isUnknown := errors.AsType[*pflag.NotExistError](err)
	invalid, isInvalid := errors.AsType[*pflag.InvalidValueError](err)
	empty, isEmpty := errors.AsType[*pflag.ValueRequiredError](err)
	syntax, isSyntax := errors.AsType[*pflag.InvalidSyntaxError](err)
	switch {
	case isUnknown:
		return unknownFlag(cmd, args, unknown)
	case isInvalid:
		return usagef("--%s: %s", invalid.GetFlag().Name, wrongValue(invalid))
	case isEmpty:
		return usagef("--%s needs a value: %s", empty.GetFlag().Name, firstPart(empty.GetFlag().Usage))
	case isSyntax:
		return usagef("%q is no flag", timeline.OneLine(syntax.GetSpecifiedFlag()))
	}
	return err
}

// firstPart returns the first part of a flag's help.
func firstPart(usage string) string {
	if end := strings.IndexAny(usage, ":;("); end >= 0 {
		usage = usage[:end]
	}
	return strings.TrimSpace(usage)
}

// inFlags returns the text of an error. What the server says of a member of a request is said of
// the flag that gave it.
func inFlags(cmd *cobra.Command, err error) string {
	text := err.Error()
	refused, ok := errors.AsType[*client.Error](err)
	if !ok || refused.Field == "" {
		return text
	}
	text = strings.Replace(text, " (field "+refused.Field+")", "", 1)
	member, _, _ := strings.Cut(refused.Field[strings.LastIndexByte(refused.Field, '.')+1:], "[")
	if flag := strings.ReplaceAll(strings.TrimSuffix(member, "_seconds"), "_", "-"); cmd != nil && cmd.Flags().Changed(flag) {
		text = strings.Replace(text, refused.Field+": ", "--"+flag+": ", 1)
	}
	return text
}

// otherFlags are what people of other programs type for flags.
var otherFlags = map[string]string{
	"addr": "--listen", "bind": "--listen", "cd": "--cwd", "dir": "--cwd", "directory": "--cwd", "force": "--yes", "format": "--output",
	"host": "--listen", "json": "--output json", "name": "--title", "port": "--listen 127.0.0.1:PORT", "server": "--url", "yaml": "--output json",
}

// unknownFlag reports an unknown flag of a command, and what may be meant.
func unknownFlag(cmd *cobra.Command, args []string, e *pflag.NotExistError) error {
	name, flag := e.GetSpecifiedName(), "--"+e.GetSpecifiedName()
	if letters := e.GetSpecifiedShortnames(); letters != "" {
		if flag = "-" + name; cmd.Flags().Lookup(letters) != nil {
			return usagef("there is no flag %s in %s; did you mean --%s?", timeline.OneLine(flag), cmd.CommandPath(), letters)
		}
	}
	what := fmt.Sprintf("there is no flag %s in %s", timeline.OneLine(flag), cmd.CommandPath())
	_, takes, _ := strings.Cut(cmd.Use, " ")
	if word := strings.ToUpper(name); len(name) > 1 && slices.Contains(strings.FieldsFunc(takes, func(r rune) bool { return r < 'A' || r > 'Z' }), word) {
		return usagef("%s; give the %s without it: %s %s", what, word, cmd.CommandPath(), inShell(valueOf(args, "--"+name), word))
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, f.Name)
		}
	})
	if is := otherFlags[name]; is != "" && slices.Contains(known, strings.TrimLeft(strings.Fields(is)[0], "-")) {
		return usagef("%s; did you mean %s?", what, is)
	}
	if is := nearest.Of(name, known); is != "" && len(name) > 1 {
		return usagef("%s; did you mean --%s?", what, is)
	}
	return usagef("%s", what)
}

// valueOf returns the value of a flag on a command line; "" if it has none.
func valueOf(args []string, flag string) string {
	for i, arg := range args {
		if value, ok := strings.CutPrefix(arg, flag+"="); ok {
			return value
		}
		if arg == flag && i+1 < len(args) {
			return args[i+1]
		}
	}
	return ""
}

// inShell returns a word as it is typed, or what it stands for if there is none.
func inShell(word, otherwise string) string {
	switch {
	case word == "":
		return otherwise
	case strings.ContainsAny(word, " \t\n\"'\\$`*?&;|<>()"):
		return inQuotes(word)
	}
	return timeline.OneLine(word)
}

// wrongValue describes what a flag takes. The flags of settings say it themselves.
func wrongValue(e *pflag.InvalidValueError) string {
	not := inQuotes(e.GetValue())
	if _, ok := errors.AsType[*strconv.NumError](e); ok && errors.Is(e, strconv.ErrRange) {
		return not + " is too large"
	}
	switch e.GetFlag().Value.Type() {
	case "int", "int64", "uint", "uint64":
		return "give a whole number, not " + not
	case "float64":
		return "give a number, not " + not
	case "duration":
		return "give a duration such as 90s, 10m or 1h30m, not " + not
	case "bool":
		return "give true or false, not " + not
	case "stringSlice":
		return "give words with commas between them, not " + not
	}
	return errors.Unwrap(e).Error()
}
