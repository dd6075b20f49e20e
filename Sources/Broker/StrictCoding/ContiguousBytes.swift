/// Lends the octets of any collection as a span; a collection that is not contiguous is copied once.
///
/// The generic entry points of this target are thin shells around code on spans, and inlinable: their caller knows the
/// collection, and without that each call looks generic types up at run time.
@inlinable func withSpan<Result>(of bytes: some Collection<UInt8>, _ body: (Span<UInt8>) -> Result) -> Result {
    if let result = bytes.withContiguousStorageIfAvailable({ body($0.span) }) { return result }
    return body(Array(bytes).span)
}
