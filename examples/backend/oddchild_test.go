package subprocess

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"time"
)

// Children that do not behave. All but the first are ready and then answer an
// eval in their own way.
const (
	oddSurroundings = "odd-surroundings" // says what it can see of its host
	oddDeaf         = "odd-deaf"         // never answers, and does not end with its input
	oddMoved        = "odd-moved"        // the same, in the process group of its host
	oddDead         = "odd-dead"         // exits
	oddEndless      = "odd-endless"      // answers with a line that does not end
	oddSays         = "odd-says"         // answers with the script
)

func runOddChild() {
	if len(os.Args) != 2 || !strings.HasPrefix(os.Args[1], "odd-") {
		return
	}
	defer os.Exit(0)
	if os.Args[1] == oddSurroundings {
		closeInherited()
		dir, err := os.ReadDir(".")
		_, inherited := os.NewFile(3, "").Stat()
		fmt.Println(os.Environ(), dir, err, inherited != nil)
		return
	}
	in := bufio.NewReader(os.Stdin)
	var o opening
	var q question
	if receive(in, 1<<20, &o) != nil || send(os.Stdout, &reply{Ready: &identity{Image: "odd", MinMemoryBytes: 1}}) != nil || receive(in, 1<<20, &q) != nil {
		return
	}
	switch os.Args[1] {
	case oddMoved:
		if joinHost() == nil {
			time.Sleep(time.Minute)
		}
	case oddDeaf:
		time.Sleep(time.Minute)
	case oddEndless:
		for {
			if _, err := os.Stdout.WriteString(strings.Repeat("[", 1<<16)); err != nil {
				return
			}
		}
	case oddSays:
		fmt.Println(q.Source)
		time.Sleep(time.Minute)
	}
}
