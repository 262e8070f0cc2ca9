package command

import (
	"strings"

	"github.com/alecthomas/kong"
)

// settings fills in flags that were not given: from the environment, then from
// the configuration file. It implements kong.Resolver.
//
// Unknown variables are not refused: a service called sandboxd in a Kubernetes
// cluster puts SANDBOXD_PORT and its kin into every environment.
type settings struct {
	env     map[string]string
	path    string
	file    map[string]map[string]string // by command, then by flag
	origins map[string]string            // flag to what set it, for messages
}

func newSettings(env []string) *settings {
	s := &settings{env: map[string]string{}, origins: map[string]string{}}
	for _, e := range env {
		if name, value, ok := strings.Cut(e, "="); ok && strings.HasPrefix(name, "SANDBOXD_") {
			s.env[name] = value
		}
	}
	return s
}

func envName(flag string) string {
	return "SANDBOXD_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

func local(f *kong.Flag) bool { return f.Tag.Has("local") || f.Name == "help" }

// Resolve implements kong.Resolver.
func (s *settings) Resolve(_ *kong.Context, parent *kong.Path, flag *kong.Flag) (any, error) {
	if local(flag) {
		return nil, nil
	}
	if v, ok := s.env[envName(flag.Name)]; ok {
		s.origins[flag.Name] = envName(flag.Name)
		return v, nil
	}
	if parent.Command == nil {
		return nil, nil
	}
	if v, ok := s.file[parent.Command.Name][flag.Name]; ok {
		s.origins[flag.Name] = s.path
		return v, nil
	}
	return nil, nil
}

// Sources of a flag's value, the weakest first.
const (
	fromFile = iota
	fromEnv
	fromCommandLine
)

// rank is where the value of a flag that is set came from.
func (s *settings) rank(flag string) int {
	switch s.origins[flag] {
	case "":
		return fromCommandLine
	case envName(flag):
		return fromEnv
	}
	return fromFile
}

// opposed says which of two flags that exclude each other holds: the one from
// the stronger source. They conflict only where one source gives both.
func (s *settings) opposed(a, b string, isA, isB bool) (useA, useB bool, conflict error) {
	if !isA || !isB {
		return isA, isB, nil
	}
	switch ra, rb := s.rank(a), s.rank(b); {
	case ra > rb:
		return true, false, nil
	case rb > ra:
		return false, true, nil
	}
	return false, false, usagef("--%s and --%s exclude each other; allowed is one of them", a, b)
}

// origin adds to a problem that begins with a flag what set that flag, unless it
// was the command line.
func (s *settings) origin(problem string) string {
	name, ok := strings.CutPrefix(problem, "--")
	if !ok {
		return problem
	}
	if end := strings.IndexFunc(name, func(r rune) bool { return r != '-' && (r < 'a' || r > 'z') && (r < '0' || r > '9') }); end >= 0 {
		name = name[:end]
	}
	if from := s.origins[name]; from != "" {
		problem += " (set by " + shortenPath(from) + ")"
	}
	return problem
}

// Validate implements kong.Resolver; load has checked already.
func (s *settings) Validate(*kong.Application) error { return nil }
