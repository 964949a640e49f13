package tokens

import "slices"

// Role says what a token may do. Each role may also do what those before it may.
type Role string

// The roles, from the least to the most. RoleOwner is that of the server's own user
// and of the server's own token; no named token has it.
const (
	RoleRead    Role = "read"    // read everything, also what agents print
	RoleRespond Role = "respond" // answer questions, acknowledge inboxes
	RoleWork    Role = "work"    // start and steer work: run code as the server's user
	RoleOperate Role = "operate" // everything except tokens, secrets and pruning
	RoleOwner   Role = "owner"
)

// Roles are the roles that a named token can have, from the least to the most.
var Roles = []Role{RoleRead, RoleRespond, RoleWork, RoleOperate}

var order = append(slices.Clone(Roles), RoleOwner)

// Covers reports whether the role allows what needs the other one. An unknown role covers
// nothing and is covered by none.
func (r Role) Covers(needed Role) bool {
	have, need := slices.Index(order, r), slices.Index(order, needed)
	return need >= 0 && have >= need
}
