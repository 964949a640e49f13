package tokens

import (
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// Events are the events of tokens. They are of the whole log, and have nothing that
// opens anything.
var Events = []ledger.EventType{
	ledger.Event[CreatedEvent](notify.TokenCreated, ledger.OfLog, nil, "A token was made. Its text is in no event."),
	ledger.Event[RevokedEvent](notify.TokenRevoked, ledger.OfLog, nil, "A token was revoked: what it has open ends."),
}

// By is who has changed a token: only the owner can.
type By string

// The value of By.
const ByOwner By = "owner"

// CreatedEvent is the body of token/created.
type CreatedEvent struct {
	Name      string      `json:"name"`
	Role      Role        `json:"role"`
	LimitedTo []string    `json:"limited_to,omitzero"` // its threads; none = all
	ExpiresAt notify.Time `json:"expires_at,omitzero"`
	By        By          `json:"by"`
}

// RevokedEvent is the body of token/revoked.
type RevokedEvent struct {
	Name string `json:"name"`
	By   By     `json:"by"`
}

func draft(method string, body any, now notify.Time) notify.Draft {
	return notify.Draft{Method: method, Header: notify.Header{Seq: notify.Provisional(0), Timestamp: now}, Body: body}
}
