package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/loom-sandbox/sandboxd/backends/wazero"
	"github.com/loom-sandbox/sandboxd/sandbox"
	"github.com/loom-sandbox/sandboxd/taint"
)

func main() {
	var l sandbox.Limits
	flag.DurationVar(&l.Timeout, "t", 0, "")
	flag.Int64Var(&l.MemoryBytes, "m", 0, "")
	flag.Int64Var(&l.Fuel, "f", 0, "")
	flag.Int64Var(&l.OutputBytes, "o", 0, "")
	flag.Int64Var(&l.LogBytes, "l", 0, "")
	seed := flag.String("seed", "s", "")
	file := flag.Bool("file", false, "")
	flag.Parse()
	b, err := wazero.New(context.Background(), nil)
	if err != nil {
		panic(err)
	}
	sb, err := sandbox.New(b, nil)
	if err != nil {
		panic(err)
	}
	fmt.Println("min memory", sb.Descriptor().MinMemoryBytes)
	args := flag.Args()
	if *file {
		data, _ := os.ReadFile(args[0])
		args = nil
		var list []string
		if err := json.Unmarshal(data, &list); err != nil {
			panic(err)
		}
		args = list
	}
	for _, s := range args {
		if len(s) > 200 {
			fmt.Printf("--- %q...\n", s[:200])
		} else {
			fmt.Printf("--- %q\n", s)
		}
		t0 := time.Now()
		r, err := sb.Eval(context.Background(), sandbox.Request{Script: s, Limits: l, Seed: *seed, Now: time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)})
		if err != nil {
			fmt.Println("GOERR", err)
			continue
		}
		v := ""
		if r.Value != nil {
			v = string(taint.Unwrap(*r.Value))
			if len(v) > 400 {
				v = v[:400] + "…"
			}
		}
		fmt.Println(r.Status, r.ValueType, v, "logs:", clip(string(taint.Unwrap(r.Logs))), fmt.Sprintf("%+v", r.Usage), time.Since(t0).Round(time.Microsecond), r.Truncated)
		if e := r.Error; e != nil {
			st := ""
			if e.Stack != nil {
				st = string(taint.Unwrap(*e.Stack))
			}
			lim := ""
			if e.Limit != nil {
				lim = fmt.Sprintf("%+v", *e.Limit)
			}
			fmt.Println("  ", e.Kind, lim, clip(string(taint.Unwrap(e.Name))), clip(string(taint.Unwrap(e.Message))), e.Line, e.Column, clip(st))
		}
	}
}
func clip(s string) string {
	if len(s) > 300 {
		return s[:300] + "…"
	}
	return s
}
