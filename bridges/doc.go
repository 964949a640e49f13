// Package bridges owns the rules of delivery to people: what a bridge, a subscription, a
// delivery and a message are, which events of the log become a delivery, and what is
// sent. It starts nothing and sends nothing: bridges/kinds sends, bridges/dispatch
// decides when.
package bridges
