package wasmbin

import "bytes"

// imagePage is the unit in which ReplaceData looks for zeros.
const imagePage = 4096

// ReplaceData drops all data segments and adds others that give a new memory the contents of image, starting at address
// 0. Runs of zero pages of 4096 bytes are left out. The image must fit in the minimum size of the memory; it is kept, not
// copied. Instructions that name a data segment (memory.init, data.drop) would name another one after this: see
// UsedOpcodes.
func (m *Module) ReplaceData(image []byte) error {
	if len(m.Memories) != 1 {
		return editError("data for a module with %d memories, not 1", len(m.Memories))
	}
	if size := int64(m.Memories[0].Min) * PageSize; int64(len(image)) > size {
		return editError("data of %d bytes for a memory of %d", len(image), size)
	}
	m.Data = nil
	zeros := make([]byte, imagePage)
	run := -1 // start of the run being read
	for at := 0; at < len(image); at += imagePage {
		page := image[at:min(at+imagePage, len(image))]
		switch zero := bytes.Equal(page, zeros[:len(page)]); {
		case zero && run >= 0:
			m.addRun(image, run, at)
			run = -1
		case !zero && run < 0:
			run = at
		}
	}
	if run >= 0 {
		m.addRun(image, run, len(image))
	}
	return nil
}

// addRun adds image[from:to], which holds something else than zeros, without the zeros at both ends.
func (m *Module) addRun(image []byte, from, to int) {
	for image[from] == 0 {
		from++
	}
	for image[to-1] == 0 {
		to--
	}
	m.Data = append(m.Data, DataSegment{Offset: I32ConstExpr(int32(uint32(from))), Bytes: image[from:to:to]})
}
