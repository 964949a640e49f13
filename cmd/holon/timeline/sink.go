package timeline

// label begins a block: a sign on terminals, a word in plain lines.
type label struct {
	sign  string // one column
	ascii string // the sign if the locale is not UTF-8
	word  string
	style style
	// quiet blocks show their text in the label's style too.
	quiet bool
}

// The labels of all blocks.
var (
	labelThread  = label{"●", "*", "thread", styleDim, true}
	labelTurn    = label{"▶", ">", "turn", styleDim, true}
	labelUser    = label{"❯", ">", "user", styleCyan, false}
	labelAgent   = label{"◆", "*", "agent", styleGreen, false}
	labelThought = label{"∴", ".", "reasoning", styleDim, true}
	labelTool    = label{"⚙", "#", "tool", styleYellow, false}
	labelCommand = label{"$", "$", "command", styleYellow, false}
	labelOutput  = label{"│", "|", "output", styleDim, true}
	labelPlan    = label{"☰", "=", "plan", styleCyan, false}
	labelFile    = label{"±", "~", "files", styleYellow, false}
	labelAsk     = label{"?", "?", "question", styleBold, false}
	labelReview  = label{"?", "?", "review", styleBold, false}
	labelAnswer  = label{"→", "-", "answer", styleCyan, false}
	labelNotice  = label{"i", "i", "notice", styleDim, true}
	labelWarning = label{"!", "!", "warning", styleYellow, false}
	labelError   = label{"✗", "x", "error", styleRed, false}
	labelDone    = label{"✓", "+", "turn", styleGreen, false}
	labelStop    = label{"■", "-", "turn", styleYellow, false}
	labelFail    = label{"✗", "x", "turn", styleRed, false}
	labelLink    = label{"↯", "!", "stream", styleYellow, true}
	labelChild   = label{"├", "|", "child", styleDim, true}
	labelStep    = label{"▸", ">", "step", styleDim, true}
	labelRewind  = label{"↺", "<", "rewind", styleYellow, true}
	labelLate    = label{"~", "~", "late", styleDim, true}
	labelOther   = label{"·", ".", "event", styleDim, true}
)

// style is an SGR parameter.
type style string

const (
	styleDim    style = "2"
	styleBold   style = "1"
	styleRed    style = "31"
	styleGreen  style = "32"
	styleYellow style = "33"
	styleCyan   style = "36"
	styleStruck style = "2;9"
)

// struckSign begins a row that is struck out without colours.
const struckSign = "~"

// sink shows blocks. Text given to it is already sanitized.
type sink interface {
	// write shows more of the block named key, which belongs to a thread. A
	// block belongs to one try.
	write(key, thread string, l label, text string, from *source)
	// pause shows a line of a block that has no end yet: another block follows. It does
	// nothing for an unknown one.
	pause(key string)
	// finish ends a block; it does nothing for an unknown one.
	finish(key string)
	// status replaces the status, which may have several lines; "" removes it.
	status(text string)
	// strike removes stale text, or strikes it out if mark is set. above tells
	// whether there is stale text that it cannot reach.
	strike(stale func(*source) bool, mark bool) (above bool)
	// lose says that other output has been written in between.
	lose()
	// showHeld shows the incomplete word that was held back.
	showHeld()
	// flush writes everything to the writer.
	flush() error
}
