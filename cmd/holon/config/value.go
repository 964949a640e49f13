package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed82539d15/holon/internal/nearest"
)

// Type says how a value is written.
type Type string

// The types, as the documentation names them.
const (
	Text    Type = "text"
	List    Type = "list"
	Bool    Type = "true or false"
	Number  Type = "number"
	Size    Type = "bytes"
	Seconds Type = "seconds"
	Days    Type = "days"
	Table   Type = "table"
)

// raw is a value as read from its source: a string from the environment,
// strings from flags, a value of TOML from the file.
type raw = any

// asText accepts a single string.
func asText(v raw) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case []string:
		if len(v) == 1 {
			return v[0], nil
		}
	}
	return "", fmt.Errorf("give one text, not %s", describe(v))
}

// asList accepts strings: repeated flags, an array of TOML, or one string with
// commas.
func asList(v raw) ([]string, error) {
	var parts []string
	switch v := v.(type) {
	case string:
		parts = []string{v}
	case []string:
		parts = v
	case []any:
		list := make([]string, 0, len(v))
		for i, element := range v {
			text, ok := element.(string)
			if !ok {
				return nil, fmt.Errorf("element %d is %s; give texts", i+1, describe(element))
			}
			list = append(list, text)
		}
		return list, nil
	default:
		return nil, fmt.Errorf("give a list of texts, not %s", describe(v))
	}
	list := []string{}
	for _, part := range parts {
		for element := range strings.SplitSeq(part, ",") {
			if element = strings.TrimSpace(element); element != "" {
				list = append(list, element)
			}
		}
	}
	return list, nil
}

// asBool accepts true and false, from the environment also 1, 0, yes, no.
func asBool(v raw) (bool, error) {
	if b, ok := v.(bool); ok {
		return b, nil
	}
	text, err := asText(v)
	if err == nil {
		switch strings.ToLower(text) {
		case "true", "1", "yes":
			return true, nil
		case "false", "0", "no":
			return false, nil
		}
	}
	return false, fmt.Errorf("give true or false, not %s", describe(v))
}

// asNumber accepts a whole number.
func asNumber(v raw) (int64, error) {
	if n, ok := v.(int64); ok {
		return n, nil
	}
	text, err := asText(v)
	if err == nil {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n, nil
		}
	}
	return 0, fmt.Errorf("give a whole number, not %s", describe(v))
}

// units of sizes, the longest suffix first.
var units = []struct {
	suffix string
	bytes  int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"B", 1}}

// asSize accepts bytes, as a number or with a binary unit: 4194304 or "4MiB".
func asSize(v raw) (int64, error) {
	if n, ok := v.(int64); ok {
		return n, nil
	}
	text, err := asText(v)
	if err != nil {
		return 0, err
	}
	factor := int64(1)
	digits := text
	for _, unit := range units {
		if rest, ok := strings.CutSuffix(text, unit.suffix); ok {
			digits, factor = strings.TrimSpace(rest), unit.bytes
			break
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/factor {
		return 0, fmt.Errorf("give bytes such as 4194304 or 4MiB, not %s", describe(v))
	}
	return n * factor, nil
}

// asDuration accepts a number of units; fractions are allowed.
func asDuration(v raw, unit time.Duration, word string) (time.Duration, error) {
	var n float64
	switch v := v.(type) {
	case int64:
		n = float64(v)
	case float64:
		n = v
	default:
		text, err := asText(v)
		if err == nil {
			n, err = strconv.ParseFloat(text, 64)
		}
		if err != nil {
			return 0, fmt.Errorf("give a number of %s, not %s", word, describe(v))
		}
	}
	// NaN fails every comparison, so test for valid values.
	if !(n >= 0 && n <= float64(math.MaxInt64)/float64(unit)/2) {
		return 0, fmt.Errorf("give a number of %s from 0, not %s", word, describe(v))
	}
	return time.Duration(n * float64(unit)), nil
}

// describe names a value for an error.
func describe(v raw) string {
	switch v := v.(type) {
	case string:
		return quote(v)
	case []string:
		return quote(strings.Join(v, ", "))
	case bool, int64, float64:
		return fmt.Sprint(v)
	case []any:
		return "a list"
	case map[string]any:
		return "a table"
	}
	return fmt.Sprintf("a value of type %T", v)
}

// quote quotes a text and cuts long ones.
func quote(text string) string {
	if len(text) > 60 {
		text = text[:57] + "..."
	}
	return strconv.Quote(text)
}

// oneOf refuses a text that is not among the allowed ones.
func oneOf(text string, allowed ...string) error {
	if slices.Contains(allowed, text) {
		return nil
	}
	return fmt.Errorf("%s is not one of %s%s", quote(text), strings.Join(allowed, ", "), nearest.Hint(text, allowed))
}
