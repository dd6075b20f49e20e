/// Why what arrived on a connection is no request that may be answered on its merits. After any of these the connection
/// is closed: what follows on it cannot be trusted to be where it seems. The raw value is a reason for the log.
enum HTTPFault: String, Error, Sendable, CaseIterable {
    /// The parser refused it: two lengths, a length and chunks, an obsolete line fold, control characters, …
    case malformed = "http_malformed"
    /// A method that the parser does not know.
    case method = "http_method_unknown"
    /// RFC 9112 §3.2: exactly one `Host`, and it is one. Two of them are read differently by different servers.
    case host = "http_host"
    /// Not in origin form: only a proxy is asked in another. RFC 9112 §3.2.
    case targetForm = "http_target_form"
    /// Anything but `chunked`, or chunks in HTTP/1.0. RFC 9112 §6.1.
    case transferCoding = "http_transfer_coding"
    /// Header fields after the body: nothing here reads them, something in front of us might.
    case trailers = "http_trailers"
    case chunkExtension = "http_chunk_extension"
    case expectation = "http_expectation"
    case targetTooLong = "http_target_too_long"
    case headerTooLarge = "http_header_too_large"
    case bodyTooLarge = "http_body_too_large"
    case headerTimeout = "http_header_timeout"
    case bodyTimeout = "http_body_timeout"
    /// Not the client's doing: all connections together keep as much as ``ListenerLimits/bufferedOctets`` allows.
    case bodyMemory = "http_body_memory"
}
