package tools

// Declarations x.
func (s *Set) Declarations() string { return "" }
