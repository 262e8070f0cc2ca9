package sandbox

// sessionMark names the state of a session that an eval went on from.
type sessionMark struct {
	ID    string
	Moved int64 // how often the session had moved on
}
