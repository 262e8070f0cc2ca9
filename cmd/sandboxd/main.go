// Command sandboxd runs scripts that nobody has to trust.
package main

import (
	"context"
	"os"

	"github.com/loom-sandbox/sandboxd/cmd/sandboxd/builtins"
	"github.com/loom-sandbox/sandboxd/cmd/sandboxd/command"
)

// version is set by the release build (-ldflags "-X main.version=…").
var version string

func main() {
	os.Exit(command.Main(context.Background(), command.App{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Env: os.Environ(),
		Version: version, Backends: builtins.Backends(),
	}))
}
