// Package picturetest turns what a test has seen on a terminal into pictures for the
// documents: SVG files with text, which need no font, no player and no program. It
// reads what `tmux capture-pane -e -p` prints.
package picturetest
