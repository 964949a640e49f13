// Package kinds sends: it has one implementation of bridges.Channel for each kind
// of bridge.
//
//	func New(c Config, with Shared) (bridges.Channel, error)  // errors are *turns.InvalidError
//	func (c *Config) Check() error
//	func (c *Config) CheckTarget(t bridges.Target) error
//	func NewWebhookSecret() string
//	func NewClient(c ClientConfig) *Client                    // one for all bridges
//	func (c *Client) SetOwn(listeners []netip.AddrPort)
//	func (c *Client) Close()
//
// What the package promises: it connects to allowed addresses only, also after a look-up,
// and never to the server itself; it follows no redirects; an attempt ends in time, whatever
// the target does; no result has a secret or an address; what an agent has written is shown
// to people as text. Nothing that it starts outlives a call of Send, except idle
// connections, which Client.Close closes, and processes of a program that cannot be
// found (see Group in agents/process).
//
// A message is changed, removed and found again by the RemoteID of its card, which
// only its kind can read. It also names messages that should have been removed and
// could not be: the next delivery in the card tries again.
package kinds
