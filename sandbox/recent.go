package sandbox

import "container/list"

// recent is a map that knows which of its values was used least recently. It is
// not safe for concurrent use.
type recent[K comparable, V any] struct {
	order *list.List // of *recentItem[K, V], the last used at the front
	items map[K]*list.Element
}

type recentItem[K comparable, V any] struct {
	key   K
	value V
}

func newRecent[K comparable, V any]() *recent[K, V] {
	return &recent[K, V]{order: list.New(), items: map[K]*list.Element{}}
}

func (r *recent[K, V]) len() int { return len(r.items) }

// use returns a value, which thereby is the one used last.
func (r *recent[K, V]) use(key K) (value V, ok bool) {
	e, ok := r.items[key]
	if !ok {
		return value, false
	}
	r.order.MoveToFront(e)
	return e.Value.(*recentItem[K, V]).value, true
}

// put adds or replaces a value, which thereby is the one used last.
func (r *recent[K, V]) put(key K, value V) {
	if e, ok := r.items[key]; ok {
		e.Value.(*recentItem[K, V]).value = value
		r.order.MoveToFront(e)
		return
	}
	r.items[key] = r.order.PushFront(&recentItem[K, V]{key, value})
}

func (r *recent[K, V]) remove(key K) {
	if e, ok := r.items[key]; ok {
		r.order.Remove(e)
		delete(r.items, key)
	}
}

// oldest returns the value that was used least recently.
func (r *recent[K, V]) oldest() (key K, value V, ok bool) {
	e := r.order.Back()
	if e == nil {
		return key, value, false
	}
	item := e.Value.(*recentItem[K, V])
	return item.key, item.value, true
}
