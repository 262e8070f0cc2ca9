package wasmbin_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/backends/internal/wasmbin"
)

const header = "\x00asm\x01\x00\x00\x00"

// section gives a section with its size; contents are shorter than 128 bytes.
func section(id wasmbin.SectionID, contents string) string {
	return string([]byte{byte(id), byte(len(contents))}) + contents
}

// withBody is a module with one function of no parameters, no memory and no table.
func withBody(instructions string) string {
	code := "\x00" + instructions + "\x0b"
	return header + section(wasmbin.SectionType, "\x01\x60\x00\x00") + section(wasmbin.SectionFunction, "\x01\x00") +
		section(wasmbin.SectionCode, "\x01"+string([]byte{byte(len(code))})+code)
}

func TestWhatIsNotHandledIsRefusedByName(t *testing.T) {
	t.Parallel()
	types := section(wasmbin.SectionType, "\x01\x60\x00\x00")
	table := section(wasmbin.SectionTable, "\x01\x70\x00\x01")
	memory := section(wasmbin.SectionMemory, "\x01\x00\x01")
	for name, tc := range map[string]struct {
		wasm string
		kind error
		text string
	}{
		"text":                    {"(module)", wasmbin.ErrMalformed, "header"},
		"a component":             {"\x00asm\x0d\x00\x01\x00", wasmbin.ErrUnsupported, "version 0x1000d"},
		"a tag section":           {header + section(13, "\x00"), wasmbin.ErrUnsupported, "tag section"},
		"an unknown section":      {header + section(14, "\x00"), wasmbin.ErrUnsupported, "section 0x0e"},
		"a section twice":         {header + types + types, wasmbin.ErrMalformed, "after the type section"},
		"sections out of order":   {header + memory + types, wasmbin.ErrMalformed, "after the memory section"},
		"a data count after code": {withBody("") + section(12, "\x00"), wasmbin.ErrMalformed, "after the code section"},
		"a section too long":      {header + "\x01\x05\x00", wasmbin.ErrMalformed, "size of 5 bytes"},
		"left over bytes":         {header + section(5, "\x01\x00\x01\x00"), wasmbin.ErrMalformed, "1 bytes left over"},
		"an empty section":        {header + section(1, "\x00"), wasmbin.ErrNotCanonical, "section of no types"},
		"a padded size":           {header + "\x01\x84\x00\x01\x60\x00\x00", wasmbin.ErrNotCanonical, "number 4"},
		"a padded count":          {header + section(1, "\x81\x00\x60\x00\x00"), wasmbin.ErrNotCanonical, "number 1"},
		"a vector type":           {header + section(1, "\x01\x60\x01\x7b\x00"), wasmbin.ErrUnsupported, "v128"},
		"a struct type":           {header + section(1, "\x01\x5f\x00\x00"), wasmbin.ErrUnsupported, "type form 0x5f"},
		"an imported memory":      {header + section(2, "\x01\x01e\x01m\x02\x00\x01"), wasmbin.ErrUnsupported, "import e.m of a memory"},
		"an imported table":       {header + section(2, "\x01\x01e\x01m\x01\x70\x00\x01"), wasmbin.ErrUnsupported, "of a table"},
		"an imported global":      {header + section(2, "\x01\x01e\x01m\x03\x7f\x00"), wasmbin.ErrUnsupported, "of a global"},
		"an imported tag":         {header + section(2, "\x01\x01e\x01m\x04\x00\x00"), wasmbin.ErrUnsupported, "of a tag"},
		"an import of no type":    {header + section(2, "\x01\x01e\x01m\x00\x00"), wasmbin.ErrMalformed, "type 0 of 0"},
		"a name not in UTF-8":     {header + section(2, "\x01\x01\xff\x01m\x00\x00"), wasmbin.ErrMalformed, "UTF-8"},
		"a table of externref":    {header + section(4, "\x01\x6f\x00\x01"), wasmbin.ErrUnsupported, "table of externref"},
		"two tables":              {header + section(4, "\x02\x70\x00\x01\x70\x00\x01"), wasmbin.ErrUnsupported, "2 tables"},
		"a 64-bit table":          {header + section(4, "\x01\x70\x04\x01"), wasmbin.ErrUnsupported, "64-bit table"},
		"two memories":            {header + section(5, "\x02\x00\x01\x00\x01"), wasmbin.ErrUnsupported, "2 memories"},
		"a shared memory":         {header + section(5, "\x01\x03\x01\x01"), wasmbin.ErrUnsupported, "shared memory"},
		"a 64-bit memory":         {header + section(5, "\x01\x04\x01"), wasmbin.ErrUnsupported, "64-bit memory"},
		"odd limits":              {header + section(5, "\x01\x08\x01"), wasmbin.ErrUnsupported, "limits flag 0x08"},
		"limits that fall":        {header + section(5, "\x01\x01\x02\x01"), wasmbin.ErrMalformed, "minimum 2 above maximum 1"},
		"a memory beyond 4 GiB":   {header + section(5, "\x01\x00\x81\x80\x04"), wasmbin.ErrMalformed, "65536 pages"},
		"a reference global":      {header + section(6, "\x01\x70\x00\xd0\x70\x0b"), wasmbin.ErrUnsupported, "global of funcref"},
		"a computed initialiser":  {header + section(6, "\x01\x7f\x00\x41\x01\x41\x01\x6a\x0b"), wasmbin.ErrUnsupported, "several instructions"},
		"a global initialiser":    {header + section(6, "\x01\x7f\x00\x23\x00\x0b"), wasmbin.ErrUnsupported, "global.get (0x23)"},
		"an odd initialiser type": {header + section(6, "\x01\x7f\x00\x42\x00\x0b"), wasmbin.ErrMalformed, "i32 initialised with i64"},
		"odd mutability":          {header + section(6, "\x01\x7f\x02\x41\x00\x0b"), wasmbin.ErrUnsupported, "mutability 0x02"},
		"an exported tag":         {header + section(7, "\x01\x01t\x04\x00"), wasmbin.ErrUnsupported, `export "t" of a tag`},
		"an export twice":         {header + memory + section(7, "\x02\x01m\x02\x00\x01m\x02\x00"), wasmbin.ErrMalformed, `second export "m"`},
		"an export of nothing":    {header + section(7, "\x01\x01m\x02\x00"), wasmbin.ErrMalformed, "memory 0 of 0"},
		"a start of nothing":      {header + section(8, "\x00"), wasmbin.ErrMalformed, "function 0 of 0"},
		"elements of no table":    {header + section(9, "\x01\x00\x41\x00\x0b\x00"), wasmbin.ErrMalformed, "without a table"},
		"passive elements":        {header + table + section(9, "\x01\x01\x00\x00\x00\x00"), wasmbin.ErrUnsupported, "element segment of kind 1"},
		"data of no memory":       {header + section(11, "\x01\x00\x41\x00\x0b\x00"), wasmbin.ErrMalformed, "without a memory"},
		"passive data":            {header + memory + section(11, "\x01\x01\x02ab\x00"), wasmbin.ErrUnsupported, "data segment of kind 1"},
		"a 64-bit offset":         {header + memory + section(11, "\x01\x00\x42\x00\x0b\x00"), wasmbin.ErrMalformed, "offset of type i64"},
		"an odd data count":       {header + section(12, "\x01"), wasmbin.ErrMalformed, "data count of 1"},
		"functions of no body":    {header + types + section(3, "\x01\x00"), wasmbin.ErrMalformed, "1 functions with 0 bodies"},
		"bodies of no function":   {header + types + section(10, "\x01\x02\x00\x0b"), wasmbin.ErrMalformed, "1 bodies for 0 functions"},
		"too many locals": {header + types + section(3, "\x01\x00") +
			section(10, "\x01\x0e\x02\xff\xff\xff\xff\x0f\x7f\x01\x7f\x0b\x0b\x0b\x0b\x0b"), wasmbin.ErrMalformed, "function 0: 4294967296 locals"},
		"locals of v128": {header + types + section(3, "\x01\x00") + section(10, "\x01\x04\x01\x01\x7b\x0b"), wasmbin.ErrUnsupported, "local of v128"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := wasmbin.Decode([]byte(tc.wasm))
			require.ErrorIs(t, err, tc.kind)
			assert.ErrorContains(t, err, tc.text)
		})
	}
}

func TestInstructionsNotHandledAreRefusedByName(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		instructions string
		kind         error
		text         string
	}{
		"v128":                 {"\xfd\x0c", wasmbin.ErrUnsupported, "wasmbin: function 0: instruction v128 (0xfd) at offset 0x17 is not supported"},
		"threads":              {"\x01\xfe\x00", wasmbin.ErrUnsupported, "threads (0xfe) at offset 0x18"},
		"garbage collection":   {"\xfb\x00", wasmbin.ErrUnsupported, "garbage collection (0xfb)"},
		"exceptions":           {"\x06\x40\x0b", wasmbin.ErrUnsupported, "exception handling (0x06)"},
		"tail calls":           {"\x12\x00", wasmbin.ErrUnsupported, "tail call (0x12)"},
		"call_ref":             {"\x14\x00", wasmbin.ErrUnsupported, "typed function reference (0x14)"},
		"nothing known":        {"\x27", wasmbin.ErrUnsupported, "unknown (0x27)"},
		"an unknown prefixed":  {"\xfc\x12", wasmbin.ErrUnsupported, "instruction 0xfc 18"},
		"a large prefixed":     {"\xfc\xff\xff\xff\xff\x0f", wasmbin.ErrUnsupported, "instruction 0xfc 4294967295"},
		"a v128 block":         {"\x02\x7b\x0b", wasmbin.ErrUnsupported, "type of block"},
		"a padded block type":  {"\x02\xc0\x7f\x0b", wasmbin.ErrUnsupported, "type of block"},
		"a second memory":      {"\x28\x42\x01\x00", wasmbin.ErrUnsupported, "memory index of i32.load"},
		"growth of a second":   {"\x40\x01", wasmbin.ErrUnsupported, "memory index of memory.grow"},
		"a select of v128":     {"\x1c\x01\x7b", wasmbin.ErrUnsupported, "select with v128"},
		"a typed null":         {"\xd0\x6e", wasmbin.ErrUnsupported, "ref.null with type 0x6e"},
		"too wide an access":   {"\x28\x03\x00", wasmbin.ErrMalformed, "alignment above"},
		"no memory":            {"\x28\x02\x00", wasmbin.ErrMalformed, "i32.load of memory 0 of 0"},
		"no memory to grow":    {"\x40\x00", wasmbin.ErrMalformed, "memory.grow of memory 0 of 0"},
		"no memory to fill":    {"\xfc\x0b\x00", wasmbin.ErrMalformed, "memory.fill of memory 0 of 0"},
		"no table":             {"\x11\x00\x00", wasmbin.ErrMalformed, "call_indirect of table 0 of 0"},
		"no table to set":      {"\x26\x00", wasmbin.ErrMalformed, "table.set of table 0 of 0"},
		"no element segment":   {"\xfc\x0d\x00", wasmbin.ErrMalformed, "elem.drop of element segment 0 of 0"},
		"no data segment":      {"\xfc\x09\x00", wasmbin.ErrMalformed, "data.drop of data segment 0 of 0"},
		"no such function":     {"\x10\x01", wasmbin.ErrMalformed, "call of function 1 of 1"},
		"no such reference":    {"\xd2\x01", wasmbin.ErrMalformed, "ref.func of function 1 of 1"},
		"no such type":         {"\x11\x01\x00", wasmbin.ErrMalformed, "call_indirect of type 1 of 1"},
		"no such block type":   {"\x02\x01\x0b", wasmbin.ErrMalformed, "block of type 1 of 1"},
		"no such local":        {"\x20\x00", wasmbin.ErrMalformed, "local.get of local 0 of 0"},
		"no such global":       {"\x24\x00", wasmbin.ErrMalformed, "global.set of global 0 of 0"},
		"no such label":        {"\x0c\x01", wasmbin.ErrMalformed, "label 1 with 1 blocks open"},
		"no such table label":  {"\x0e\x01\x00\x02", wasmbin.ErrMalformed, "label 2 with 1 blocks open"},
		"else in no block":     {"\x05", wasmbin.ErrMalformed, "else outside an if"},
		"else in a block":      {"\x02\x40\x05\x0b", wasmbin.ErrMalformed, "else outside an if"},
		"a second else":        {"\x04\x40\x05\x05\x0b", wasmbin.ErrMalformed, "else outside an if"},
		"an end too many":      {"\x0b", wasmbin.ErrMalformed, "after the final end"},
		"an end too few":       {"\x02\x40", wasmbin.ErrMalformed, "missing end"},
		"an oversized index":   {"\x10\xff\xff\xff\xff\x1f", wasmbin.ErrMalformed, "incomplete instruction call"},
		"an oversized i32":     {"\x41\xff\xff\xff\xff\x0f", wasmbin.ErrMalformed, "incomplete instruction i32.const"},
		"half a float":         {"\x44\x00\x00", wasmbin.ErrMalformed, "incomplete instruction f64.const"},
		"a huge label table":   {"\x0e\xff\xff\xff\xff\x0f", wasmbin.ErrMalformed, "incomplete instruction br_table"},
		"a huge typed select":  {"\x1c\xff\xff\xff\xff\x0f", wasmbin.ErrMalformed, "incomplete instruction select"},
		"half a memory.copy":   {"\xfc\x0a\x80", wasmbin.ErrMalformed, "incomplete instruction memory.copy"},
		"half a call_indirect": {"\x11\x80", wasmbin.ErrMalformed, "incomplete instruction call_indirect"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := wasmbin.Decode([]byte(withBody(tc.instructions)))
			require.ErrorIs(t, err, tc.kind)
			assert.ErrorContains(t, err, tc.text)
		})
	}
}
