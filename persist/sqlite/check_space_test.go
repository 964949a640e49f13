package sqlite

import "testing"

func TestAFullDiskIsAnError(t *testing.T) {
	for _, c := range []struct {
		free  int64
		level Level
		text  string
	}{
		{0, Error, "none: nothing can be stored until there is space on this disk"},
		{fullBelow - 1, Error, "none: nothing can be stored until there is space on this disk"},
		{fullBelow, Warning, "1 MiB: make space before the disk is full"},
		{freeWarning - 1, Warning, "1023 MiB: make space before the disk is full"},
		{freeWarning, OK, "1024 MiB"},
	} {
		if level, text := space(c.free); level != c.level || text != c.text {
			t.Errorf("%d bytes: %s %q", c.free, level, text)
		}
	}
}
