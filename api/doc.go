// Package api owns the one table of methods: params, results, errors, schemas,
// documents, and what each method does. It knows no socket and no HTTP, so
// every entry point can call it: the transports of package rpc, and any adapter
// that speaks another protocol to the same engine.
//
// A handler holds no JSON. The registry decodes params strictly, checks
// required members, maps errors and encodes results, for all methods. Handlers
// decide nothing about threads, turns and items; they call the Engine or the
// Reader. Before a handler runs, the agent rules of its method (agent_rules.go) and the rules
// for its role and threads (token_rules.go) say whether the requester may call it.
//
// docs/protocol.md, docs/openrpc.json and the TypeScript types are made from
// the tables of this package.
package api

//go:generate go run ./gen
