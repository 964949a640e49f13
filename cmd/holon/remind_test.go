package main

import (
	"strings"
	"testing"
)

func TestRemindersAreMadeListedAndDeleted(t *testing.T) {
	s := startMailbox(t)
	contains(t, s.holon("remind", "list", "me").err, `holon remind me "in 20m"`)
	r := s.holon("remind", "me", "in 20m", "look", "at the build", "--id=build")
	contains(t, r.out, "build: ", ", in 20m\n")
	contains(t, r.err, "holon remind rm me build")
	t.Setenv("TZ", "UTC")
	contains(t, s.want("remind", "me", "every 2h", "check", "--id=check"), ", in 2h, then every 2h")
	contains(t, s.want("remind", "me", "2027-03-01T09:00:00Z", "renew", "--id=renew"), "2027-0", "days")
	list := s.want("remind", "list", "me")
	contains(t, list, "TIMER", "look at the build", "every 2h", "renew")
	if out := s.want("remind", "rm", "me", "build"); out != "build: deleted\n" {
		t.Errorf("deleted: %q", out)
	}
	if r := s.holon("remind", "rm", "me", "build"); r.code != exitFailed || !strings.Contains(r.err, "holon remind list THREAD") {
		t.Errorf("deleted twice: %+v", r)
	}
	if list := s.want("remind", "list", "me"); strings.Contains(list, "look at the build") {
		t.Errorf("deleted, but listed:\n%s", list)
	}
	s.want("remind", "me", "in 1s", "now")
	eventually(t, "it arrives", func() bool { return strings.Contains(s.want("inbox"), "now") })
}

func TestRemindRefusesAMistypedTZ(t *testing.T) {
	for _, phrase := range []string{"tomorrow 9:00", "every day at 9:00", "in 20m"} {
		var out, errs buffer
		g := &globals{console: console{in: strings.NewReader(""), out: &out, err: &errs, environ: []string{"HOLON_DATA=" + freshDir(t), "TZ=Europe/Berln"}}}
		if code := execute(t.Context(), g, []string{"remind", "me", phrase, "look"}); code != exitUsage || !strings.Contains(errs.String(), "TZ=Europe/Berln does not name a timezone") {
			t.Errorf("%s: exit %d: %s", phrase, code, errs.String())
		}
	}
}
