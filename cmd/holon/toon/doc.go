// Package toon writes JSON values as TOON (Token-Oriented Object Notation,
// github.com/toon-format/spec, version 4), a text for language models: indented
// like YAML, and a table where objects have the same members, so that their
// names are written once.
//
// It owns the layout, quoting and numbers of that text. It only encodes, with
// the default options of the reference encoder (@toon-format/toon 4.4): two
// spaces for each level, comma as delimiter. Its output is that of the reference
// with these exceptions, which decode to the same values:
//
//   - Members keep their order. JavaScript moves names like "1" to the front.
//   - Numbers keep all their digits. JavaScript rounds them to 64-bit floats.
//   - DEL and the C1 controls are escaped, as U+0000 to U+001F are in all
//     implementations, so that the only control character in the output is the
//     line feed between lines.
//
// Characters that reorder text or show nothing stay as they are: TOON cannot
// escape all of them. Output for a terminal needs a sanitizer after this one.
//
// The package does no input or output and knows nothing of Holon. The commands
// of holon call it for their results.
package toon
