// Command holon is the one binary: the server (holon serve), commands for
// people (run, watch, respond, inbox, remind, threads, turns, items, status), for
// programs (call, connect, ingest, schema) and for maintenance (doctor, backup, restore, export,
// prune, bench, conformance, config).
//
// Each subcommand is a file with func newXCommand(g *globals) *cobra.Command,
// listed in root.go. Output for programs goes to stdout and nothing else does;
// messages for people go to stderr. The exit code is 0, 1 (failed) or 2 (the
// command line or the configuration is wrong).
package main
