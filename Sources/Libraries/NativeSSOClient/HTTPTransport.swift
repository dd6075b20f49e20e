/// How requests travel. An app conforms its own HTTP client to it; this library has none.
public protocol HTTPTransport: Sendable {
    /// Sends one POST and gives the answer, whatever its status; follows no redirect.
    ///
    /// - Throws: Only where there is no answer.
    func post(_ request: TransportRequest) async throws -> TransportResponse
}

/// A form for a token endpoint. Prints without its body, which holds secrets.
public struct TransportRequest: Sendable, CustomStringConvertible, CustomReflectable {
    public let address: String
    /// `Authorization`, where the client identifies itself that way.
    public let authorization: String?
    /// `DPoP`, where the app has a key.
    public let dpop: String?
    /// `application/x-www-form-urlencoded`.
    public let body: [UInt8]

    public var description: String { "POST \(address)" }
    public var customMirror: Mirror { Mirror(self, children: ["address": address]) }
}

/// The answer of a token endpoint. Prints without its body.
public struct TransportResponse: Sendable, CustomStringConvertible, CustomReflectable {
    public let status: Int
    /// `Retry-After`.
    public let retryAfter: String?
    /// `X-Request-Id`: what to tell the operator.
    public let requestID: String?
    /// `DPoP-Nonce`. Without it no broker that asks for nonces can be used.
    public let dpopNonce: String?
    public let body: [UInt8]

    public init(status: Int, retryAfter: String?, requestID: String?, dpopNonce: String? = nil, body: [UInt8]) {
        self.status = status
        self.retryAfter = retryAfter
        self.requestID = requestID
        self.dpopNonce = dpopNonce
        self.body = body
    }

    public var description: String { "status \(status)" }
    public var customMirror: Mirror { Mirror(self, children: ["status": status]) }
}
