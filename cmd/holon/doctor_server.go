package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	processes "github.com/seed82539d15/holon/agents/process"
	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/cmd/holon/config"
	"github.com/seed82539d15/holon/cmd/holon/servers"
	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/persist/sqlite"
	"github.com/seed82539d15/holon/rpc/client"
)

// servedTimeout is how long a running server may take for an answer.
const servedTimeout = 5 * time.Second

// serverCheck is the server that the other commands would use, as doctor sees it.
type serverCheck struct {
	url       string
	logID     string         // "" if it has not answered
	client    *client.Client // nil: none runs, or it lets nobody in
	elsewhere bool           // its log is not in the data directory
	finding   sqlite.Finding
}

// examineServer asks the server that --url, HOLON_URL or the data directory name, with
// the token and the certificates that any other command would use. The caller closes it.
func examineServer(g *globals, cmd *cobra.Command) (s *serverCheck, err error) {
	if _, err := g.settings(cmd); err != nil {
		return nil, err
	}
	s = &serverCheck{finding: sqlite.Finding{Name: "server", Level: sqlite.OK}}
	c, err := g.client(cmd)
	var usage *usageError
	if errors.As(err, &usage) {
		return nil, err
	}
	var who api.InitializeResult
	if err == nil {
		s.client = c
		s.url = g.endpoint().URL
		ctx, cancel := context.WithTimeoutCause(cmd.Context(), servedTimeout, fmt.Errorf("%s has not answered within %s", s.url, servedTimeout))
		defer cancel()
		if err = initialize(ctx, c, &who); err != nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
	}
	if cmd.Context().Err() != nil {
		s.close()
		return nil, context.Cause(cmd.Context())
	}
	s.logID = who.LogID
	s.elsewhere = givenURL(g) != "" && g.loaded.Sources["data"].Origin != config.FromFlag && !servers.Of(g.loaded.Data, givenURL(g), who.LogID)
	switch {
	case err == nil:
		s.finding.Text = s.describe(g, who)
	case givenURL(g) == "" && none(err):
		s.finding.Text = "none runs on " + g.loaded.Data
	default:
		s.finding.Level = sqlite.Error
		s.finding.Text = redact(g.server, err.Error())
		if hint := g.hint(err); hint != "" {
			s.finding.Text += ". " + sentences(hint)
		}
	}
	if err != nil {
		s.close()
	}
	return s, nil
}

// givenURL returns what the command line or the environment gives, "" for none.
func givenURL(g *globals) string { return cmp.Or(g.url, g.env("HOLON_URL")) }

// none reports whether an error only says that no server runs, which is no fault: the data
// directory has none, or nothing answers at the default address.
func none(err error) bool {
	var gone *client.NoServerError
	var silent *client.UnreachableError
	return errors.As(err, &gone) || errors.As(err, &silent) && strings.HasPrefix(silent.Source, client.SourceDefault)
}

// describe prints which server it is, how it was found, and with which token it let
// doctor in.
func (s *serverCheck) describe(g *globals, who api.InitializeResult) string {
	e := g.endpoint()
	text := fmt.Sprintf("%s (from %s) answers: version %s, %d events", e.URL, e.Source, who.ServerInfo.Version, who.LatestSeq)
	switch {
	case e.TokenFrom == "":
		text += "; no token was needed"
	case who.Token != nil:
		text += fmt.Sprintf("; the token is %s (%s), from %s", who.Token.Name, who.Token.Role, e.TokenFrom)
	default:
		text += "; the token is from " + e.TokenFrom
	}
	return timeline.OneLine(text)
}

// examineEnvironment names the variables that agents do not get: those that the running
// server was started with, else those that one would be started with here. A server from
// before this rule says nothing and leaves out nothing.
func examineEnvironment(g *globals) []sqlite.Finding {
	by, names := "a server that is started here", processes.LeftOut(g.environ)
	if record, err := client.ReadServerFile(g.loaded.Data); err == nil && record.Alive() {
		by, names = "the server", record.LeftOut
	}
	if names == nil {
		return nil
	}
	return []sqlite.Finding{{Name: "environment", Level: sqlite.OK, Text: fmt.Sprintf(
		"variables that %s does not pass on to its agents: %s", by, cmp.Or(strings.Join(names, ", "), "none"))}}
}

// sentences returns the lines of a hint in one.
func sentences(hint string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(hint, "\n") {
		switch {
		case b.Len() == 0:
		case strings.ContainsRune(".,:", rune(b.String()[b.Len()-1])):
			b.WriteString(" ")
		default:
			b.WriteString(". ")
		}
		b.WriteString(line)
	}
	return b.String()
}

func (s *serverCheck) close() {
	if s.client != nil {
		s.client.Close()
		s.client = nil
	}
}

// notHere returns the report of a server whose log is somewhere else.
func (s *serverCheck) notHere(g *globals, refold bool) (*doctorReport, error) {
	if refold {
		return nil, usagef("--refold reads the log in a data directory: run it where the server runs, with --data DIR")
	}
	return &doctorReport{Server: s.url, OK: s.finding.Level != sqlite.Error, Findings: []sqlite.Finding{s.finding, {
		Name: "data", Level: sqlite.OK, Text: "not looked at: " + g.loaded.Data + " is not that server's. Where it runs: holon doctor --data DIR",
	}}}, nil
}
