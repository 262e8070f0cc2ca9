package command

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/loom-sandbox/sandboxd/sandbox"
)

// maxKeyFileBytes bounds the file of --continuation-key-file.
const maxKeyFileBytes = 64 << 10

// continuationFlags say how suspended scripts are sealed.
type continuationFlags struct {
	ContinuationKeyFile  word `group:"Suspended scripts:" placeholder:"FILE" help:"Keys that seal continuations, as 'sandboxd key' prints them, one on a line; the first seals, the others open what they sealed before. Others must not be able to read it. Default: a random key of this process, so that no other can resume."`
	ContinuationAudience word `group:"Suspended scripts:" default:"sandboxd" placeholder:"NAME" help:"For whom continuations are, such as a tenant; those for another are refused. Default: sandboxd."`
	ContinuationExpiry   span `group:"Suspended scripts:" default:"24h" placeholder:"DURATION" help:"How long a continuation can be resumed, 1s to 8784h. Default: 24h."`
	MaxContinuation      size `group:"Suspended scripts:" default:"16MiB" placeholder:"SIZE" help:"Largest continuation, at most 1GiB; a script whose state needs more ends with output_too_large. Default: 16MiB."`
}

func (f *continuationFlags) check() error {
	if n := len(f.ContinuationAudience); n > sandbox.MaxAudienceBytes {
		return usagef("--continuation-audience is %d bytes; allowed is 1 to %d", n, sandbox.MaxAudienceBytes)
	}
	return check(
		bound{"continuation-expiry", (*int64)(&f.ContinuationExpiry), int64(time.Second), int64(sandbox.MaxContinuationExpiry), showSpan},
		sizeBound("max-continuation", &f.MaxContinuation, sandbox.MaxContinuationBytes),
	)
}

// resolve reads the keys. All backends of a process have the same.
func (f *continuationFlags) resolve(ctx context.Context) (*sandbox.Continuations, error) {
	keys, err := f.keys(ctx)
	if err != nil {
		return nil, err
	}
	return &sandbox.Continuations{
		Keys: keys, Audience: string(f.ContinuationAudience),
		Expiry: time.Duration(f.ContinuationExpiry), MaxBytes: int64(f.MaxContinuation),
	}, nil
}

func (f *continuationFlags) keys(ctx context.Context) (*sandbox.Keys, error) {
	if f.ContinuationKeyFile == "" {
		return sandbox.ParseKeys(newKey())
	}
	name := "--continuation-key-file " + shortenPath(string(f.ContinuationKeyFile))
	text, err := readSecret(ctx, string(f.ContinuationKeyFile), maxKeyFileBytes)
	if err != nil {
		return nil, unread(name, err)
	}
	if len(text) > maxKeyFileBytes {
		return nil, usagef("%s: larger than %d bytes", name, maxKeyFileBytes)
	}
	keys, err := sandbox.ParseKeys(string(text))
	if err != nil {
		problem := strings.TrimPrefix(err.Error(), "sandbox: keys cannot be read: ")
		return nil, usagef("%s: %s", name, strings.TrimPrefix(problem, "seal: "))
	}
	return keys, nil
}

// newKey is a line of a key file, with an ID that is not there yet.
func newKey() string {
	var id [6]byte
	var secret [32]byte
	rand.Read(id[:]) // never fails (crypto/rand)
	rand.Read(secret[:])
	return "key-" + hex.EncodeToString(id[:]) + " " + base64.StdEncoding.EncodeToString(secret[:])
}

type keyCmd struct{}

// Help is shown below the flags' summary.
func (*keyCmd) Help() string {
	return `Prints one line: an ID and the base64 of 32 random bytes. Whoever has it can read and forge continuations. To put a new key in front of those in use, write its line above theirs.

Examples:
  (umask 077 && sandboxd key > continuation.keys)
  sandboxd serve --continuation-key-file continuation.keys`
}

// Run is called by kong.
func (*keyCmd) Run(app *App) error {
	if _, err := fmt.Fprintln(app.Stdout, newKey()); err != nil {
		return fmt.Errorf("key cannot be written: %w", err)
	}
	return nil
}
