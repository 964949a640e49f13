// Package tools gives an agent that runs a turn the means to start work in child
// threads, to wait for it, and to use its own inbox and timers: an MCP server
// (https://modelcontextprotocol.io) with eleven tools.
//
// It owns the tools: their names, params, bounds, the texts that models read, and
// what makes a repeated call find what the first one did. It changes and reads
// nothing by itself: it calls the methods of the protocol as the agent (Caller),
// which has the rules about what an agent may do. It keeps no state but the calls
// that run.
//
// A Server answers POST /mcp of package rpc, without sessions, and stdin and stdout
// of the command holon tools.
package tools
