package tools

import "math/big"

// number writes a bound of a schema: as decimals where they are few, else as a
// fraction of whole numbers.
func number(r *big.Rat) string {
	if r.IsInt() {
		return cut(r.Num().String(), maxLiteralsBytes)
	}
	const digits = 12
	text := r.FloatString(digits)
	for text[len(text)-1] == '0' {
		text = text[:len(text)-1]
	}
	if back, ok := new(big.Rat).SetString(text); ok && back.Cmp(r) == 0 {
		return text
	}
	return cut(r.RatString(), maxLiteralsBytes)
}
