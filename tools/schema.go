package tools

// Bounds of JSON that is checked.
const (
	// MaxSchemaBytes bounds one schema.
	MaxSchemaBytes = 256 << 10
	// MaxDepth is how many objects and arrays nest in arguments, results and schemas.
	MaxDepth = 1000
	// MaxNumberBytes is the length of a number in them.
	MaxNumberBytes = 400
)
