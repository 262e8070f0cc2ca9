package integration

// literalTemplates are values that are known to be awkward.
func literalTemplates() grammar {
	return grammar{
		"small": {"0", "1", "2", "3", "5", "7", "10", "-1"},
		"number": {
			"0", "1", "(-0)", "NaN", "Infinity", "(-Infinity)", "0.1", "(-1.5)", "5e-324", "2.2250738585072014e-308", "1.7976931348623157e308",
			"9007199254740993", "4294967295", "4294967296", "2147483648", "(-2147483649)", "1e21", "1e-7", "123456789.987654321", "0.5", "2.5", "1.005",
		},
		"bigint": {"0n", "1n", "(-1n)", "9007199254740993n", "(-(2n ** 64n))", "0xffffffffffffffffn", "123456789012345678901234567890n"},
		"string": {
			"''", "'a'", "'abc'", "'Straße'", "'ÅÅ'", "'e\\u0301'", "'\\ud83d\\ude00'", "'\\ud800'", "'x\\udc00y'", "'İıſK'", "'ﬁ'", "'  pad\\t\\u00a0\\ufeff '", "'a,b,,c'",
			"'0x1F'", "'1e3'", "'-12.50px'", "'The quick brown fox'", "'2026-02-29T12:00:00Z'", "'{\"a\":[1,2,{\"b\":null}]}'", "'\\0\\x07\\u2028'", "`l1\nl2`", "'日本語'",
		},
		"bool": {
			"false", "true", "(n < m)", "(s === t)", "(@value == @value)", "(@value === @value)", "(! @value)", "(@value && @value)", "Object.is(@value, @value)",
			"(@key in o)", "(@value instanceof @class)",
		},
		"class": {"Object", "Array", "Error", "Promise", "RegExp", "Date", "Map"},
		"value": {
			"null", "undefined", "true", "@number", "@number", "@string", "@string", "@array", "@array", "@object", "@bigint", "@function", "Symbol('q')", "Symbol.iterator",
			"@date", "@regexp", "@typed", "@collection",
			"n", "s", "a", "o", "f", "b", "(@bool ? @value : @value)", "(@value ?? @value)", "(@value || @value)", "o?.[@key]?.x", "f?.(@value)", "attempt(() => @value)",
			"(typeof @value)", "(void 0)", "new Error(@string)", "(@value, @value)",
		},
		"key": {"'x'", "'a'", "0", "1", "'length'", "'-1'", "'1.5'", "'constructor'", "'__proto__'", "'toString'", "Symbol.iterator", "Symbol.toPrimitive", "s", "n"},
	}
}

// numberTemplates compute with doubles, where engines round and convert.
func numberTemplates() grammar {
	return grammar{
		"number": {
			"n", "m", "(- @number)", "(~ @number)", "(+ @string)", "(+ @value)", "(@number @arithmetic @number)", "(@number @arithmetic @number)",
			"(@number @bitwise @number)", "Math.@unary(@number)", "Math.@unary(@number)", "Math.@binary(@number, @number)",
			"parseFloat(@string)", "parseInt(@string, @radix)", "Number(@value)", "Math.hypot(@number, @number, @number)", "Math.max(@number, @number, @number)",
			"Math.min(-0, @number, @number)", "Number('0x' + bits(@number).slice(0, 8))",
			"(n++)", "(--m)", "(n = @number)", "(n **= @number)", "(m >>>= @number)", "@array.length", "@string.length", "s.charCodeAt(@small)", "s.codePointAt(@small)",
			"@string.indexOf(@string)", "@string.localeCompare(@string)", "@array.indexOf(@value)", "a.reduce((x, y) => x + y, 0)",
			"Math.random()", "Date.now()", "performance.now()", "@date.getTime()", "@date.getDay()", "Number(BigInt.asIntN(@radix, @bigint))", "Number(@bigint)",
			"@typed[@small]", "(() => { switch (@number) { case 0: return 1; case NaN: return 2; default: return @number } })()",
		},
		"arithmetic": {"+", "-", "*", "/", "%", "**"},
		"bitwise":    {"|", "&", "^", "<<", ">>", ">>>"},
		"unary": {
			"abs", "floor", "ceil", "round", "trunc", "sign", "sqrt", "cbrt", "exp", "expm1", "log", "log1p", "log2", "log10", "sin", "cos", "tan", "asin", "acos", "atan",
			"sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "fround", "f16round", "clz32",
		},
		"binary": {"pow", "atan2", "imul", "max", "min", "hypot"},
		"radix":  {"10", "2", "16", "36", "3", "7", "64", "0", "1", "NaN"},
		"digits": {"0", "1", "2", "3", "17", "20", "21", "50", "100"},
		"bigint": {
			"b", "(@bigint + @bigint)", "(@bigint * @bigint)", "(@bigint - @bigint)", "(@bigint / @bigint)", "(@bigint % @bigint)", "(@bigint << 70n)", "(@bigint >> 3n)",
			"(@bigint & @bigint)", "(@bigint ^ @bigint)", "(~ @bigint)", "(- @bigint)",
			"BigInt.asUintN(@digits, @bigint)", "BigInt.asIntN(@digits, @bigint)", "BigInt(Math.trunc(@number))", "BigInt(@string)", "(@bigint ** 5n)", "(b = @bigint)",
		},
		"string": {
			"String(@number)", "(@number).toString(@radix)", "(@number).toFixed(@digits)", "(@number).toPrecision(@digits)", "(@number).toExponential(@digits)",
			"@bigint.toString(@radix)", "(@number).toLocaleString()", "bits(@number)", "`${@number}|${@number}`",
		},
	}
}

// textTemplates work on UTF-16, well-formed or not.
func textTemplates() grammar {
	return grammar{
		"string": {
			"s", "t", "(@string + @value)", "(s += @string)", "`${@value}:${@value}`", "@string.toUpperCase()", "@string.toLowerCase()", "@string.normalize('@form')",
			"@string.trim()", "@string.slice(@small, @number)", "@string.substring(@number, @small)", "@string.at(@small)",
			"@string.padStart(@digits, @string)", "@string.padEnd(@digits, @string)", "@string.repeat(@small)", "@string.charAt(@small)", "@string.concat(@value, @value)",
			"@string.isWellFormed()", "@string.toWellFormed()", "@array.join(@string)", "[...@string].reverse().join('')",
			"String.raw`\\u00zz${@number}`", "String.fromCharCode(@number, @number)", "String.fromCodePoint(Math.abs(@small) * 9731)", "encodeURIComponent(@string)",
			"decodeURIComponent(@string)", "escape(@string)", "unescape('%u0041%E4' + @string)", "(typeof @value)", "Object.prototype.toString.call(@value)",
			"JSON.stringify(@value)", "JSON.stringify(@value, null, @small)", "JSON.stringify(@value, (k, v) => typeof v === 'number' ? -v : v)",
			"@string.replace(@string, @string)", "@string.replaceAll(@string, (m, i) => m + i)", "@date.toISOString()", "String(@date)", "@date.toUTCString()",
			"@date.toLocaleString()",
			"String(@function)", "@regexp.source", "String(@value)", "new Error(@string).stack", "(() => { try { null.x } catch (e) { return e.message + e.stack } })()",
			"@string.anchor(@string)", "tag`a${@value}b${@value}c`",
		},
		"form": {"NFC", "NFD", "NFKC", "NFKD"},
		"date": {
			"new Date(0)", "new Date(@number)", "new Date(@string)", "new Date(2024, @small, @number)", "new Date()", "new Date(Date.UTC(@number, @small))",
			"new Date('@datetext')", "new Date(Date.parse('@datetext'))",
			"(() => { const d = new Date(86400000 * 59); d.set@datepart(@number); return d })()",
		},
		"datetext": {
			"2024-02-29", "Mon, 25 Dec 1995 13:30:00 +0430", "2024-13-01", "1969-12-31T23:59:59.999Z", "+275760-09-13T00:00:00.000Z", "Jan 1 2000 12:00 PM",
			"2024-06-01T10:20", "24:00",
		},
		"datepart": {"Month", "Date", "FullYear", "Hours", "Minutes", "UTCSeconds", "Milliseconds", "Time"},
	}
}

// patternTemplates are regular expressions and what is done with them.
func patternTemplates() grammar {
	return grammar{
		"regexp": {
			"/a/", "/[a-z]+/g", "/(?<=o)\\w(?<q>x)?/dgu", "/\\p{L}+|(.)/yv", "new RegExp(String.raw`@pattern`, '@flags')", "new RegExp(String.raw`@pattern`, '@flags')",
			"new RegExp(String.raw`(@pattern)@quantifier`, '@flags')", "new RegExp(@string, '@flags')",
		},
		"flags": {"", "g", "i", "gi", "u", "gu", "y", "gy", "s", "m", "iu", "d", "v"},
		"pattern": {
			"a", ".", "[a-z]+", "\\w+", "\\d+|\\s", "(?:a|ab)(c|bcd)(d*)", "(?<y>\\d{4})-(?<m>\\d\\d)", "(\\w)\\1", "(?<=o)\\w", "(?<!a)b", "a(?=b)", "^(?!x)", "[^\\w\\s]",
			"\\p{L}", "[\\u{1F600}-\\u{1F64F}]", "\\bq", "(a*)*", "(?:)", "\\u212a", "[İı]", "(?<a>.)\\k<a>", "@pattern@quantifier?", "(@pattern)|(@pattern)",
			"(?i:@pattern)",
		},
		"quantifier": {"*", "+", "?", "{2}", "{1,3}", "{0,}"},
		"string":     {"@string.replace(@regexp, '[$&$1$<y>]')", "@string.replace(@regexp, (...m) => m.length)"},
		"array": {
			"@string.split(@regexp)", "@string.split(@string, @small)", "(@string.match(@regexp) ?? [])", "[...@string.matchAll(new RegExp(String.raw`@pattern`, 'gu'))]",
			"[@regexp.exec(@string)?.index, @regexp.test(@string)]", "[@string.search(@regexp)]",
			"(() => { const r = @regexp; r.lastIndex = @small; const m = r.exec(@string); return [m, m?.groups, r.lastIndex] })()",
		},
	}
}
