package tokens

import (
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// Events are the events of tokens. They belong to the whole log, and contain no secrets.
var Events = []ledger.EventType{
	ledger.Event[CreatedEvent](notify.TokenCreated, ledger.OfLog, nil, "A named token was made, or with parent a console token. Its text is in no event."),
	ledger.Event[RevokedEvent](notify.TokenRevoked, ledger.OfLog, nil, "A token was revoked: what it has open ends, and the console tokens of which it is the parent."),
}

// By says who has changed a token: the owner, or token:NAME.
type By string

// ByOwner is the server's own user, or a client with the server's own token.
const ByOwner By = "owner"

// ByName returns a client with the token of this name, or the owner.
func ByName(name string) By {
	if name == OwnerName {
		return ByOwner
	}
	return By(turns.ByTokenPrefix + name)
}

// CreatedEvent is the body of token/created.
type CreatedEvent struct {
	Name      string      `json:"name"`
	Parent    string      `json:"parent,omitzero"` // of a console token
	Role      Role        `json:"role"`
	LimitedTo []string    `json:"limited_to,omitzero"` // its threads; none = all
	ExpiresAt notify.Time `json:"expires_at,omitzero"`
	By        By          `json:"by"`
}

// RevokedEvent is the body of token/revoked.
type RevokedEvent struct {
	Name   string `json:"name"`
	Parent string `json:"parent,omitzero"` // of a console token
	By     By     `json:"by"`
}

func draft(method string, body any, now notify.Time) notify.Draft {
	return notify.Draft{Method: method, Header: notify.Header{Seq: notify.Provisional(0), Timestamp: now}, Body: body}
}
