/// Lends the octets of any collection as a span; a collection that is not contiguous is copied once.
///
/// The generic entry points of this target are thin shells around code on spans, so that they cost the same whether or
/// not the caller's module was specialised.
func withSpan<Result>(of bytes: some Collection<UInt8>, _ body: (Span<UInt8>) -> Result) -> Result {
    if let result = bytes.withContiguousStorageIfAvailable({ body($0.span) }) { return result }
    return body(Array(bytes).span)
}
