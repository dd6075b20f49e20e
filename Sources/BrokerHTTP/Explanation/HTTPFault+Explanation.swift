extension HTTPFault {
    var explanation: RefusalExplanation {
        switch self {
        case .malformed:
            .init(
                "the HTTP request is malformed (RFC 9112)",
                "Use an HTTP library as it comes, and look at what a proxy between app and broker changes.")
        case .method: .init("the method is none that HTTP libraries know", "Send POST, in capitals.")
        case .host:
            .init(
                "there is no Host header, there are several, or it names no host",
                "Send exactly one: a host, with or without a port.")
        case .targetForm: .init("the request target is not a path", "Send POST /token, not a full URL.")
        case .transferCoding:
            .init("the transfer coding is not chunked", "Send a Content-Length, or chunks over HTTP/1.1.")
        case .trailers: .init("header fields follow the body", "Leave trailers out.")
        case .chunkExtension: .init("a chunk has an extension", "Send chunks without extensions, or a Content-Length.")
        case .expectation: .init("the Expect header asks for something unknown", "Leave it out, or send 100-continue.")
        case .targetTooLong:
            .init("the request target is longer than 8 KiB", "Send POST /token; parameters belong in the body.")
        case .headerTooLarge:
            .init("the header is larger than 16 KiB or has more than 64 fields", "Send no cookies to the broker.")
        case .bodyTooLarge:
            .init("the body is larger than 64 KiB", "Send the parameters of one grant and nothing else.")
        case .headerTimeout: .init("the header took longer than 5 s to arrive", "Send the request again.")
        case .bodyTimeout: .init("the body took longer than 10 s to arrive", "Send the request again.")
        case .bodyMemory:
            .init(
                "all connections together keep as much of unread bodies and untaken answers as they may (max_buffered_mib)",
                "Send the request again after Retry-After.")
        }
    }
}
