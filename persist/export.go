package persist

import (
	"context"
	"fmt"
	"io"

	"github.com/seed82539d15/holon/notify"
)

// Export writes the events after a seq as NDJSON, up to the head when Export
// begins. Each line is the notification that a stream sends. It returns the last
// seq written, or after if there was none. after 0 means everything that is
// kept. Any other after below the oldest event is a *notify.ExpiredError. So is
// a prune that overtakes the export; its After is the last seq written.
func Export(ctx context.Context, log notify.Log, w io.Writer, after int64) (int64, error) {
	var buf []byte
	head := int64(-1)
	for last := after; ; {
		p, err := log.Page(ctx, notify.Query{After: last, MaxEvents: refoldEvents, MaxBytes: refoldBytes})
		if err != nil {
			return last, fmt.Errorf("export after %d: %w", last, err)
		}
		if last > 0 && last+1 < p.First {
			return last, &notify.ExpiredError{After: last, First: p.First}
		}
		if head < 0 {
			head = p.Latest
		}
		buf = buf[:0]
		for i := range p.Events {
			if p.Events[i].Seq > head {
				break
			}
			buf = p.Events[i].AppendFrame(buf)
			last = p.Events[i].Seq
		}
		if _, err := w.Write(buf); err != nil {
			return last, fmt.Errorf("export: %w", err)
		}
		if last >= head || len(p.Events) == 0 {
			return last, nil
		}
	}
}
