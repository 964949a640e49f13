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
// What the package promises: it connects to no address that is not allowed, looked
// up or redirected, and never to the server itself; an attempt ends in time,
// whatever the target does; no result has a secret or an address; what is shown to
// people is text, whatever the agent has written. It starts nothing that outlives a
// call of Send but idle connections, which Client.Close closes.
//
// A message is changed, removed and found again by the RemoteID of its slot, which
// only its kind can read. It also names messages that should have been removed and
// could not be: the next delivery in the slot tries again.
package kinds
