/// Why what arrived on a connection is no request that may be answered on its merits. After any of these the connection
/// is closed: what follows on it cannot be trusted to be where it seems.
package enum HTTPFault: Error, Sendable, CaseIterable {
    /// The parser refused it: two lengths, a length and chunks, an obsolete line fold, control characters, …
    case malformed
    /// A method that the parser does not know.
    case method
    /// RFC 9112 §3.2: exactly one `Host`, and it is one. Two of them are read differently by different servers.
    case host
    /// Not in origin form: only a proxy is asked in another. RFC 9112 §3.2.
    case targetForm
    /// Anything but `chunked`, or chunks in HTTP/1.0. RFC 9112 §6.1.
    case transferCoding
    /// Header fields after the body: nothing here reads them, something in front of us might.
    case trailers
    case chunkExtension
    case expectation
    case targetTooLong
    case headerTooLarge
    case bodyTooLarge
    case headerTimeout
    case bodyTimeout
    /// Not the client's doing: all connections together keep as much as ``ListenerLimits/bufferedOctets`` allows.
    case bodyMemory
}
