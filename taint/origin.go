package taint

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ErrOrigin says that an origin is not allowed; see [CheckOrigin] for the rules.
var ErrOrigin = errors.New("taint: origin must be 1 to 200 characters of valid UTF-8 " +
	`without control or format characters, line separators, <, > and "`)

// CheckOrigin returns [ErrOrigin] unless origin is a legal origin: valid UTF-8
// of 1 to [MaxOriginLength] characters, with no control characters, no invisible
// format characters (such as those that turn the direction of writing), no
// Unicode line or paragraph separator, and none of <, > and ". Such an origin
// can be shown in a log line, a terminal or a quoted attribute as it is.
//
// Use it where an origin is configured; [Wrap] does not fail on a bad one.
func CheckOrigin(origin string) error {
	if origin == "" || len(origin) > MaxOriginLength*utf8.UTFMax || !utf8.ValidString(origin) {
		return ErrOrigin
	}
	if utf8.RuneCountInString(origin) > MaxOriginLength {
		return ErrOrigin
	}
	if strings.ContainsFunc(origin, forbiddenInOrigin) {
		return ErrOrigin
	}
	return nil
}

func forbiddenInOrigin(r rune) bool {
	switch r {
	case '<', '>', '"':
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// cleanOrigin never returns an origin that a strict reader would refuse.
func cleanOrigin(origin string) string {
	if CheckOrigin(origin) != nil {
		return OriginInvalid
	}
	return origin
}
