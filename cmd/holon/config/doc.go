// Package config owns the settings of the holon command: which there are, where
// each value comes from and whether it makes sense.
//
// One table (Keys) has every setting. The flags, the HOLON_* variables, the
// keys of the file, `holon config` and the table in docs/operations.md are all
// made from it, so they cannot drift apart. What people name themselves, such
// as [agents.NAME], are tables whose keys are of the same kind; another sort of
// them is a struct, its keys and an entry in sorts. Load takes defaults, then the TOML
// file, then the environment, then flags; each value remembers its source.
// Validate is apart from Load, because a client needs the data directory even
// where a server would refuse to start.
//
// It opens nothing, connects to nothing and starts nothing.
package config
