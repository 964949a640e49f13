// Package config owns the settings of the holon command: which ones exist,
// where each value comes from and whether it is valid.
//
// One table (Keys) has every setting. The flags, the HOLON_* variables, the
// keys of the file, `holon config` and the table in docs/operations.md are all
// made from it, so they cannot differ. Tables with names that users choose,
// such as [agents.NAME], have keys of the same type; a new kind of table needs
// a struct, its keys and an entry in sorts. Load applies defaults, then the
// TOML file, then the environment, then flags; each value keeps its source.
// Validate is separate from Load, because a client needs the data directory
// even if a server would refuse to start.
//
// It opens nothing, connects to nothing and starts nothing.
package config
