package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/cmd/holon/config"
	"github.com/seed82539d15/holon/persist"
	"github.com/seed82539d15/holon/persist/sqlite"
	"github.com/seed82539d15/holon/rpc/admission"
)

func newDoctorCommand(g *globals) *cobra.Command {
	var refold, skip, offline, all bool
	var patience time.Duration
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the server, the log, the data directory, the agents and the bridges",
		Long: `Asks the server that the other commands would use, with the same token and
certificates, and says which it is. If it is another one than that of the data
directory (--url, HOLON_URL), only its answers are checked. Otherwise: settings,
integrity and density of the log, permissions and free space, also while the server
runs, and which variables its agents do not get (names only). Each agent that is
configured, or named with --agent, is started once, separately from the server's,
and problems are reported: not installed, not logged in, Node.js too old. Each
bridge is looked at: its secrets, what waits, was given up or is held, and whether
its target can be reached; a connection is made and nothing is sent. With --refold
every thread whose log is complete is rebuilt from its events and compared with the
stored rows. Problems are printed first, then a line for each area in which all is
fine; --all prints every check, in its order. The exit code is 1 if anything is
wrong, 0 with warnings.

  holon doctor
  holon doctor --agent opencode
  holon doctor --url https://holon.example.com
  holon doctor --skip-agents --refold -o json`,
		Args: cobra.NoArgs,
		RunE: interruptible(func(cmd *cobra.Command, _ []string) error {
			format, err := g.format("text", "json", "jsonl")
			if err != nil {
				return err
			}
			server, err := examineServer(g, cmd)
			if err != nil {
				return err
			}
			defer server.close()
			report, err := examine(g, cmd, server, refold, offline)
			if err != nil {
				return err
			}
			if !skip {
				if server.elsewhere && !cmd.Flags().Changed("agent") {
					g.loaded.Agents, g.loaded.DefaultAgent = nil, config.KindEcho // they are of a server here
				}
				if format == "text" && startsAgents(g.loaded) {
					g.note("starting each agent once …")
				}
				report.examineAgents(cmd.Context(), g.loaded, server.client, patience)
			}
			if format == "text" {
				err = report.print(&g.console, all)
			} else {
				err = g.printJSON(report, format == "json")
			}
			if err == nil && !report.OK {
				return &exitError{code: exitFailed}
			}
			return err
		}),
	}
	cmd.Flags().BoolVar(&refold, "refold", false, "rebuild all rows from the log and compare")
	cmd.Flags().BoolVar(&all, "all", false, "print every check, also what is fine")
	cmd.Flags().BoolVar(&skip, "skip-agents", false, "start no agents")
	cmd.Flags().BoolVar(&offline, "skip-bridges", false, "connect to no target of a bridge")
	cmd.Flags().DurationVar(&patience, "agent-timeout", time.Minute, "how long each agent may take to start")
	config.BindAgent(cmd.Flags())
	return cmd
}

// doctorReport is what doctor prints. OK is false if anything is wrong.
type doctorReport struct {
	OK       bool              `json:"ok"`
	Server   string            `json:"server,omitempty"` // the URL of the one that was asked
	Data     string            `json:"data,omitempty"`   // the directory that was looked at
	Findings []sqlite.Finding  `json:"findings"`
	Refold   *persist.Refolded `json:"refold,omitempty"`
}

// examine checks the server, the log and the data directory.
func examine(g *globals, cmd *cobra.Command, server *serverCheck, refold, offline bool) (r *doctorReport, err error) {
	if server.elsewhere {
		return server.notHere(g, refold)
	}
	defer func() {
		if err == nil {
			r.Server = server.url
			r.Findings = slices.Insert(r.Findings, 0, slices.Concat([]sqlite.Finding{server.finding}, examineEnvironment(g), examinePath(g))...)
			r.OK = r.OK && server.finding.Level != sqlite.Error
		}
	}()
	reader, err := openReader(g, cmd)
	if errors.Is(err, fs.ErrNotExist) && len(g.loaded.Agents) > 0 && !refold {
		// Agents can be tried before there is a server.
		r = &doctorReport{OK: true, Data: g.loaded.Data, Findings: []sqlite.Finding{{
			Name: "log", Level: sqlite.Warning, Text: "there is no log in " + g.loaded.Data + " yet; holon serve makes one",
		}}}
		found, err := examineBridges(cmd.Context(), g, nil, offline)
		for _, f := range found {
			r.Findings = append(r.Findings, f)
			r.OK = r.OK && f.Level != sqlite.Error
		}
		return r, err
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	r = &doctorReport{OK: true, Data: reader.Dir()}
	if r.Findings, err = reader.Check(cmd.Context()); err != nil {
		return nil, err
	}
	if server.logID != "" {
		here, err := reader.Position(cmd.Context())
		if err != nil {
			return nil, err
		}
		if here.LogID != server.logID {
			r.Findings = append(r.Findings, sqlite.Finding{Name: "server", Level: sqlite.Warning, Text: fmt.Sprintf(
				"the log in %s is not that of the server: what is said here of files is not about that server", reader.Dir())})
		}
	}
	r.Findings = append(r.Findings, writable(reader.Dir()))
	if g.loaded.Synchronous == "normal" {
		r.Findings = append(r.Findings, sqlite.Finding{
			Name: "synchronous", Level: sqlite.Warning, Text: "configured as normal: a power cut may lose what was acknowledged",
		})
	}
	if err := admission.PeersAreKnown(); err != nil {
		r.Findings = append(r.Findings, sqlite.Finding{
			Name: "peers", Level: sqlite.Warning, Text: "the owner of a loopback connection cannot be looked up, so clients on TCP need the token: " + err.Error(),
		})
	} else {
		r.Findings = append(r.Findings, sqlite.Finding{Name: "peers", Level: sqlite.OK, Text: "the owner of a loopback connection can be looked up"})
	}
	found, err := examineBridges(cmd.Context(), g, reader, offline)
	if err != nil {
		return nil, err
	}
	r.Findings = append(r.Findings, found...)
	if refold {
		if r.Refold, err = persist.Refold(cmd.Context(), reader); err != nil {
			return nil, err
		}
		level := sqlite.OK
		if len(r.Refold.Differences) > 0 {
			level = sqlite.Error
		}
		r.Findings = append(r.Findings, sqlite.Finding{Name: "refold", Level: level, Text: fmt.Sprintf(
			"%d threads rebuilt from %d events, %d differences (%d pruned, %d busy)",
			r.Refold.Threads, r.Refold.Events, len(r.Refold.Differences), r.Refold.Pruned, r.Refold.Busy)})
	}
	for _, f := range r.Findings {
		r.OK = r.OK && f.Level != sqlite.Error
	}
	return r, nil
}

// writable checks that this user may write a data directory: reads do not show
// that the system has made a disk read-only.
func writable(dir string) sqlite.Finding {
	const mayWrite = 2 // W_OK
	for _, path := range []string{dir, filepath.Join(dir, sqlite.FileName)} {
		if err := syscall.Access(path, mayWrite); err != nil {
			return sqlite.Finding{Name: "writable", Level: sqlite.Error, Text: fmt.Sprintf(
				"%s cannot be written: %v. No server can start or store here: look at the disk and its mount, or whose directory it is", path, err)}
		}
	}
	return sqlite.Finding{Name: "writable", Level: sqlite.OK, Text: "this user can write " + dir}
}
