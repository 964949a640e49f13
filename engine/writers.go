package engine

// The parts of a decision. Each adds the events of one kind of thing to the
// unit and keeps the next state in step.
type (
	// itemWriter writes items: those of agents and workers, questions, and
	// what people say.
	itemWriter struct{ d *decision }
	// stepWriter writes the beginnings and ends of steps.
	stepWriter struct{ d *decision }
	// turnWriter writes the course of the active turn: its beginning, its
	// progress, its attempts, its end.
	turnWriter struct{ d *decision }
	// lateWriter keeps what superseded tries still write.
	lateWriter struct{ d *decision }
)
