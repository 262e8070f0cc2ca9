// Package pristine keeps memory of WebAssembly guests that is made pristine in
// microseconds, by restoring only what changed. An [Image] is what memory holds
// at its start; [Image.Restore] makes memory equal it again after an eval.
//
// On Linux memory is a private mapping of a sealed file with the image's content.
// The kernel knows which pages have been written to since: those are the mapping's
// own, and /proc/self/pagemap says so. Where evals write a lot, in the hot spans,
// such pages are copied back, since a page that stays spares the next eval a
// fault, which is far dearer than the copy. The cold spans are handed back to the
// kernel at one stroke, and are the file's again. This is [Remap]. Elsewhere, or
// where the kernel does not say, every page is compared with the image, which is
// [Copy].
//
// # Security
//
// That nothing of one eval is seen by the next rests on this package. It does not
// rest on what the guest does or on what the host thinks it did: that a page is
// the mapping's own is recorded by the memory management of the processor and the
// kernel, for any write, whoever made it. A page counts as own unless the kernel
// is sure that it is not: one that is on its way to or from swap is copied.
//
// Remap is used only where a trial has shown it to work, and gives way to Copy
// when the kernel refuses something later. The file is sealed, so that nothing can
// change what memories go back to; [Image.Check] shows from time to time that they
// did.
//
// Memory that is copied by fork, which Go never does by itself, stays sound in the
// parent. A child without exec would read the parent's pagemap and must not use
// the package.
//
// # Concurrency
//
// An [Image] and a [Delta] may be used by any number of goroutines, each with
// memory of its own. A [Memory] is for one at a time, and while it is restored,
// checked or compared, nothing else may write to it.
//
// # Errors
//
// [ErrLength], [ErrSpan], [ErrDiffers], [ErrClosed], and from Reserve those of the
// system. No error holds content of a memory.
//
// # Limits
//
// Restored memory has the image's length. One that has grown does not shrink: it
// is freed, and another reserved. A memory takes two or three mappings of the
// 65,530 that Linux allows a process by default. Pages of the kernel must have
// 4 KiB for Remap. After Restore by Remap a memory has at most 1.5 MiB of its own.
package pristine
