package screen

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// Span describes how long something took or has been going on, in one unit: "12 s",
// "6 min", "3 h", "2 d". Negative spans, of clocks that differ, are 0 s.
func Span(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", max(d, 0)/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", d/time.Hour)
	}
	return fmt.Sprintf("%d d", d/(24*time.Hour))
}

// SpanChanges returns the time until Span of a growing duration says something else.
func SpanChanges(d time.Duration) time.Duration {
	unit := time.Second
	switch {
	case d < 0:
		return time.Second - d
	case d >= 48*time.Hour:
		unit = 24 * time.Hour
	case d >= time.Hour:
		unit = time.Hour
	case d >= time.Minute:
		unit = time.Minute
	}
	return unit - d%unit
}

// Tokens formats a number of tokens shortly: "950", "12k", "1.4M".
func Tokens(n int64) string {
	switch {
	case n < 1000:
		return strconv.FormatInt(max(n, 0), 10)
	case n < 999_500:
		return fmt.Sprintf("%dk", (n+500)/1000)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1e6)
}

// Money formats an amount: "$4.10", "0.73 EUR". Amounts that would round to nothing
// are marked: "<$0.01". "" for no amount.
func Money(amount float64, currency string) string {
	if amount <= 0 || math.IsInf(amount, 0) || math.IsNaN(amount) {
		return ""
	}
	less := ""
	if amount < 0.01 {
		less, amount = "<", 0.01
	}
	switch currency = OneLine(currency); currency {
	case "USD", "":
		return fmt.Sprintf("%s$%.2f", less, amount)
	}
	return fmt.Sprintf("%s%.2f %s", less, amount, Fit(currency, 4))
}

// Plural returns a number with its noun: "1 thread", "3 threads".
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
