package config

import (
	"maps"
	"os/exec"
	"slices"
)

// Found is a known coding agent that is on the PATH. If it is not Ready, the program
// that connects it is missing: its own command is there, of the preset's name.
type Found struct {
	Name string
	Preset
	Ready bool
}

// KnownPrograms returns the commands of all presets, in the order of their names.
func KnownPrograms() (programs []string) {
	for _, name := range slices.Sorted(maps.Keys(presets)) {
		programs = append(programs, presets[name].Command[0])
	}
	return programs
}

// FindAgents looks for the agents of all presets, in the order of their names.
func FindAgents() (list []Found) {
	on := func(program string) bool {
		_, err := exec.LookPath(program)
		return err == nil
	}
	for _, name := range slices.Sorted(maps.Keys(presets)) {
		p := presets[name]
		if ready := on(p.Command[0]); ready || on(name) {
			list = append(list, Found{Name: name, Preset: p, Ready: ready})
		}
	}
	return list
}
