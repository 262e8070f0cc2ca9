package httpapi

import "sync"

// budget is the number of bytes that requests and results may still hold.
type budget struct {
	mu   sync.Mutex
	free int64 // guarded by mu; below zero after settle
}

// hold is the share of one request in a budget. It is for one goroutine.
type hold struct {
	budget *budget
	bytes  int64
}

// add takes n bytes more, or none if there are not as many.
func (h *hold) add(n int64) bool {
	h.budget.mu.Lock()
	defer h.budget.mu.Unlock()
	if n > h.budget.free {
		return false
	}
	h.budget.free -= n
	h.bytes += n
	return true
}

// settle makes the share n bytes, whether there are as many or not: it is for
// what is in memory already. Others are refused until enough has been given back.
func (h *hold) settle(n int64) {
	h.budget.mu.Lock()
	defer h.budget.mu.Unlock()
	h.budget.free += h.bytes - n
	h.bytes = n
}
