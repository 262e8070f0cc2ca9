package quickjs

// The C ABI of quickjs-ng on wasm32: a JSValue is an i64 with its tag in the
// upper half (JS_NAN_BOXING).
type jsValue = uint64

const (
	tagInt       = 0
	tagBool      = 1
	tagNull      = 2
	tagUndefined = 3
	tagException = 6
	tagObject    = -1

	jsFalse     jsValue = tagBool << 32
	jsTrue      jsValue = tagBool<<32 | 1
	jsUndefined jsValue = tagUndefined << 32
	jsException jsValue = tagException << 32
)

func tagOf(v jsValue) int32 { return int32(v >> 32) }

func isException(v jsValue) bool { return tagOf(v) == tagException }

// Flags of JS_Eval2.
const (
	evalCompileOnly = 1 << 5 // JS_EVAL_FLAG_COMPILE_ONLY
	evalAsync       = 1 << 7 // JS_EVAL_FLAG_ASYNC: top-level await, completion as {value}
)

// evalOptionsVersion and the layout of JSEvalOptions: version, flags, filename,
// line, each 32 bits.
const (
	evalOptionsVersion = 1
	evalOptionsBytes   = 16
)

// States that JS_PromiseState answers; negative is "not a promise".
const (
	promisePending   = 0
	promiseFulfilled = 1
	promiseRejected  = 2
)
