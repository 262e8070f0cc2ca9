package pristine

import "math/bits"

// pageSet is a set of pages, by number, a bit for each.
type pageSet struct{ words []uint64 }

func newPageSet(pages int) pageSet { return pageSet{make([]uint64, (pages+63)/64)} }

func (s *pageSet) has(page int) bool { return s.words[page/64]&(1<<(page%64)) != 0 }

func (s *pageSet) add(page int) { s.words[page/64] |= 1 << (page % 64) }

func (s *pageSet) remove(page int) { s.words[page/64] &^= 1 << (page % 64) }

func (s *pageSet) clear() { clear(s.words) }

// addOwn adds the pages that are a mapping's own, of which entries begin at first.
func (s *pageSet) addOwn(first int, entries pageEntries) {
	for i := range len(entries) / entryBytes {
		if isOwn(entries.at(i)) {
			s.add(first + i)
		}
	}
}

// runs calls f with each stretch of neighbours, [first, end). f may remove pages
// of its stretch.
func (s *pageSet) runs(f func(first, end int)) {
	pages := len(s.words) * 64
	for page := s.next(0, false); page < pages; {
		end := s.next(page, true)
		f(page, end)
		page = s.next(end, false)
	}
}

// next is the first page from a page on that is in the set, or with absent the
// first that is not; the number of all pages if there is none.
func (s *pageSet) next(page int, absent bool) int {
	for w := page / 64; w < len(s.words); w++ {
		word := s.words[w]
		if absent {
			word = ^word
		}
		if w == page/64 {
			word &= ^uint64(0) << (page % 64)
		}
		if word != 0 {
			return w*64 + bits.TrailingZeros64(word)
		}
	}
	return len(s.words) * 64
}
