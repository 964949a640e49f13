package when

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// errNoZone says how to name the timezone of a machine whose own name of it is
// unknown, as it is if /etc/localtime is a copy.
var errNoZone = errors.New("the name of this machine's timezone is unknown. Set it for this call, for example TZ=Europe/Berlin")

// CheckTZ returns an error if a value of the variable TZ names no timezone. Go then takes
// UTC without a word, so that 9:00 is another time than a person meant.
func CheckTZ(tz string) error {
	name := strings.TrimPrefix(tz, ":")
	var err error
	switch {
	case name == "": // UTC, by convention; the caller knows whether TZ is set
	case filepath.IsAbs(name):
		var data []byte
		if data, err = os.ReadFile(name); err == nil {
			_, err = time.LoadLocationFromTZData(name, data)
		}
	case name == "Local":
		err = errors.New("unknown time zone Local")
	default:
		_, err = time.LoadLocation(name)
	}
	if err != nil {
		return fmt.Errorf("TZ=%s does not name a timezone (%w). Give an IANA name, for example TZ=Europe/Berlin, or unset TZ", tz, err)
	}
	return nil
}

// Zone returns the IANA name of a location. That of time.Local is found in TZ,
// in where /etc/localtime points to, or in /etc/timezone.
func Zone(loc *time.Location) (string, error) {
	return zoneName(loc, "/etc/localtime", "/etc/timezone")
}

func zoneName(loc *time.Location, link, file string) (string, error) {
	names := []string{loc.String()} // the value of TZ if that is set
	if target, err := os.Readlink(link); err == nil {
		names = append(names, target)
	}
	if text, err := os.ReadFile(file); err == nil {
		names = append(names, strings.TrimSpace(string(text)))
	}
	for _, name := range names {
		if _, after, found := strings.Cut(name, "zoneinfo/"); found {
			name = after
		}
		if named, err := time.LoadLocation(name); err == nil && name != "Local" && name != "" && same(named, loc) {
			return name, nil
		}
	}
	return "", errNoZone
}

// same reports whether two locations have the same time throughout a year: a file
// that names the timezone may be older than the link that sets it.
func same(a, b *time.Location) bool {
	for at, n := time.Now(), 0; n < 53; at, n = at.AddDate(0, 0, 7), n+1 {
		_, x := at.In(a).Zone()
		_, y := at.In(b).Zone()
		if x != y {
			return false
		}
	}
	return true
}
