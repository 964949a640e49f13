// Package metrics holds the counters of rpc, as Prometheus collectors. It
// decides nothing; cmd registers the Set with its registry and rpc increments
// it.
package metrics
