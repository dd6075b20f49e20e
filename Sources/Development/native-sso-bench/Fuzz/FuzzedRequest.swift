/// Where a request goes in.
enum FuzzTransport: String, CaseIterable {
    /// HTTP/1.1 in the clear.
    case http1
    /// The same, over a connection of its own: it may not end where it says.
    case lone
    /// HTTP/2 over TLS.
    case http2
    /// Invalid HTTP/2 from some octet or frame on, over a connection of its own.
    case loneFrames
    /// The internal listener.
    case `internal`

    /// Whether each connection carries one request, and whatever comes of it.
    var isLone: Bool { self == .lone || self == .loneFrames }
}

/// One request of the fuzzer, and what may be said of its answer beforehand.
struct FuzzedRequest {
    /// By its number, and the seed, it is made again.
    let number: Int
    var transport: FuzzTransport
    var message: FuzzMessage
    /// In place of those of the message.
    var rawOctets: [UInt8]?
    var expects = Expectation()
    /// How often it has gone over a connection that ended before it was answered.
    var attempts = 0

    init(
        _ number: Int, _ message: FuzzMessage, at transport: FuzzTransport = .http1,
        _ expects: Expectation = Expectation()
    ) {
        self.number = number
        self.message = message
        self.transport = transport
        self.expects = expects
    }

    /// What an answer may hold, as far as it can be said without being a broker.
    struct Expectation {
        /// Something in it was not signed, proved or given as it stands: success would be a fault.
        var mustBeRefused = false
        /// Nothing in it is bent: a refusal would be a fault.
        var mustSucceed = false
        /// Another request may be at the same code, or this one where it is sent again: 503 until that is over.
        var mayBeInFlight = false
        /// It proves a key, and its client uses DPoP: an unbound token would be a fault.
        var mustBeBound = false
        /// Whom the identity provider has said, of those that it names, to have logged in.
        var subjects: [String] = []
        /// The RFC 7638 thumbprint of the key that it proves.
        var provenKey: String?
        /// The client that it proves to be.
        var provenClient: String?
    }
}
