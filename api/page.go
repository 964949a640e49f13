package api

// Order is the order of a list.
type Order string

// The values of Order; "" is OrderAsc.
const (
	OrderAsc  Order = "asc"  // the oldest first
	OrderDesc Order = "desc" // the newest first
)

// Page is part of the params of every list. Limit is 100 if absent. A cursor
// continues in the order of the page that returned it.
type Page struct {
	Limit  *int   `json:"limit,omitzero"`
	Cursor string `json:"cursor,omitzero"`
	Order  Order  `json:"order,omitzero"`
}

// limit checks the page and returns how many rows it may have.
func (p Page) limit() (int, error) {
	if err := oneOf("order", p.Order, []Order{OrderAsc, OrderDesc}); err != nil {
		return 0, err
	}
	return limitOf(p.Limit)
}

func limitOf(limit *int) (int, error) {
	if limit == nil {
		return defaultLimit, nil
	}
	if *limit < 1 || *limit > maxLimit {
		return 0, Invalid("limit", "out_of_range", "it must be 1 to %d", maxLimit)
	}
	return *limit, nil
}
