// Command holon is the one binary: the server (holon serve), the dashboard (holon), and
// commands for work with agents, for maintenance of the server, and for programs; root.go
// has these groups.
//
// Each subcommand is a file with func newXCommand(g *globals) *cobra.Command,
// listed in root.go. Output for programs goes to stdout and nothing else does;
// messages for people go to stderr. The exit code is 0, 1 (failed), 2 (the
// command line or the configuration is wrong) or 3 (the command says of what).
package main
