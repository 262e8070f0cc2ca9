package quickjs

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// learnReturnError notes how the parser refuses a top-level return, and makes
// sure that it says so of nothing else.
func (b *boot) learnReturnError() error {
	refusal := func(source string) (string, error) {
		if _, err := b.parse(source, evalAsync, 1); !errors.Is(err, errSyntax) {
			return "", fmt.Errorf("%q is not a syntax error in a script", source)
		}
		return b.h.sink.thrown.message, nil
	}
	message, err := refusal("return 1")
	if err != nil {
		return err
	}
	other, err := refusal("1 +")
	if err != nil {
		return err
	}
	if message == "" || message == other {
		return fmt.Errorf("a top-level return cannot be told from another syntax error (%q)", message)
	}
	b.img.handles.ReturnError = message
	return nil
}

// xorshift64star is the generator behind Math.random.
func xorshift64star(x uint64) uint64 {
	x ^= x >> 12
	x ^= x << 25
	x ^= x >> 27
	return x
}

// findRandomState finds the state of Math.random in the context: the only
// 64-bit word that moves as the generator does.
func (b *boot) findRandomState() error {
	const most = 4096
	ctx := b.img.handles.Context
	read := func() []byte {
		w, _ := window(b.inst.Memory(), ctx, most)
		return append([]byte(nil), w...)
	}
	before := read()
	if _, err := b.evalText("Math.random()", preludeName, 0, 1); err != nil {
		return err
	}
	after := read()
	found := 0
	for at := 0; at+8 <= len(before); at += 8 {
		x := binary.LittleEndian.Uint64(before[at:])
		if x != 0 && binary.LittleEndian.Uint64(after[at:]) == xorshift64star(x) {
			b.img.handles.RandomState = ctx + uint32(at)
			found++
		}
	}
	if found != 1 {
		return fmt.Errorf("the state of Math.random (xorshift64*) was found at %d places in the context, needed is 1", found)
	}
	return nil
}

// findLexical finds the object that holds global declarations: the context has it
// beside the global object.
func (b *boot) findLexical() error {
	const most = 4096
	hd := &b.img.handles
	if _, err := b.evalText("let sandboxdProbe = 42", preludeName, 0, 1); err != nil {
		return err
	}
	name, err := b.cString("sandboxdProbe")
	if err != nil {
		return err
	}
	w, ok := window(b.inst.Memory(), hd.Context, most)
	if !ok {
		return errors.New("the context is at the end of memory")
	}
	at := 0
	for ; at+16 <= most; at += 8 {
		next := binary.LittleEndian.Uint64(w[at+8:])
		if binary.LittleEndian.Uint64(w[at:]) == hd.Global && tagOf(next) == tagObject {
			hd.Lexical = next
			break
		}
	}
	if hd.Lexical == 0 {
		return errors.New("the context does not hold an object beside its global one")
	}
	const want = jsValue(42) // an integer
	if v, err := b.value(fnGetPropertyStr, uint64(hd.Context), hd.Lexical, uint64(name)); err != nil || v != want {
		return errors.New("what let declares is not in the object beside the global one")
	}
	if _, err := b.callValue(hd.Loosen, hd.Lexical); err != nil {
		return err
	}
	v, err := b.evalText("let sandboxdProbe = 43; const old = sandboxdProbe; delete globalThis.sandboxdProbe; old", preludeName, 0, 1)
	if err != nil || v != want+1 {
		return errors.New("what was declared cannot be declared again")
	}
	if _, err := b.callValue(hd.Loosen, hd.Lexical); err != nil {
		return err
	}
	_, err = b.evalText("delete globalThis.sandboxdProbe; delete globalThis.old", preludeName, 0, 1)
	return err
}
