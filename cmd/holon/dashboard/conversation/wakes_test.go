package conversation

import (
	"fmt"
	"testing"
	"time"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

func TestAThreadThatIsNotToldWhatIsNewSaysSo(t *testing.T) {
	stalled := object{"state": "stalled", "reason": "rate", "since": start, "until": start.Add(20 * time.Minute), "waiting": 3}
	for _, size := range [][2]int{{40, 16}, {80, 24}} {
		p := newPage(t, size[0], size[1])
		p.below = []object{{"thread_id": thread, "summary": object{"wakes": stalled}}}
		p.open()
		p.item("i1", "t1", "completed", said("All is sorted."))
		p.shows("Esc, then W tells it") // to the line for the agent it is a letter
		p.keys("<esc>")
		p.hides("Esc, then W")
		p.golden(fmt.Sprintf("not-told_%dx%d", size[0], size[1]))

		p.keys(screen.WakeKey)
		p.shows("Tell “mend the build”")
		p.keys("n")
		p.wants(screen.Say{Text: "Not told."})
		p.keys(screen.WakeKey, "y")
		p.wants(screen.Wake{Thread: thread})
		p.started("t2")
		p.hides("not told:")
		p.keys(screen.WakeKey)
		p.shows("Nothing to tell")
	}
}
