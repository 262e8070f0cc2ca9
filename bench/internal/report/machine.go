package report

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
)

// Machine is where and with what a run was made.
type Machine struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	OS     string `json:"os"`
	Arch   string `json:"arch"`
	Kernel string `json:"kernel"`
	Go     string `json:"go"`
	// Cgo: the build had it.
	Cgo bool `json:"cgo"`
	// Load is the load average at the start; other work falsifies what is measured.
	Load string `json:"load"`
	// Peers are the versions of what is compared, by name.
	Peers map[string]string `json:"peers"`
}

// ThisMachine reads what can be read. Modules are those whose versions are of
// interest; more adds versions that the build does not know.
func ThisMachine(modules []string, more map[string]string) Machine {
	m := Machine{
		CPU: "unknown", Cores: runtime.NumCPU(), OS: runtime.GOOS, Arch: runtime.GOARCH, Kernel: "unknown",
		Go: runtime.Version(), Load: "unknown", Peers: map[string]string{},
	}
	m.CPU = field("/proc/cpuinfo", "model name", m.CPU)
	if name := field("/etc/os-release", "PRETTY_NAME", ""); name != "" {
		m.OS += " (" + strings.Trim(name, `"`) + ")"
	}
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(text))
	}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.Load = strings.Join(strings.Fields(string(text))[:3], " ")
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			m.Cgo = m.Cgo || s.Key == "CGO_ENABLED" && s.Value == "1"
		}
		for _, dep := range info.Deps {
			if slices.Contains(modules, dep.Path) {
				m.Peers[dep.Path] = dep.Version
			}
		}
	}
	maps.Copy(m.Peers, more)
	return m
}

// field is the value of the first line of a file that has the name, up to the
// separators that such files use.
func field(file, name, otherwise string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return otherwise
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			return strings.TrimSpace(strings.TrimLeft(rest, " \t:="))
		}
	}
	return otherwise
}

// Lines are the machine for people.
func (m Machine) Lines() []string {
	lines := []string{
		fmt.Sprintf("%s, %d cores, load %s before", m.CPU, m.Cores, m.Load),
		fmt.Sprintf("%s %s, kernel %s, %s, cgo %t", m.OS, m.Arch, m.Kernel, m.Go, m.Cgo),
	}
	var peers []string
	for _, name := range slices.Sorted(maps.Keys(m.Peers)) {
		peers = append(peers, name+" "+m.Peers[name])
	}
	if len(peers) > 0 {
		lines = append(lines, strings.Join(peers, ", "))
	}
	return lines
}
