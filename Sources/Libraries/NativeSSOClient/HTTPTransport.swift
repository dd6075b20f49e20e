/// Sends requests. The app conforms its HTTP client to it; this library has none.
public protocol HTTPTransport: Sendable {
    /// Sends one POST and returns the response, whatever its status. Must not follow redirects.
    ///
    /// - Throws: Only if there is no response.
    func post(_ request: TransportRequest) async throws -> TransportResponse
}

/// A form request to a token endpoint. Prints only its address, because the body contains secrets.
public struct TransportRequest: Sendable, CustomStringConvertible, CustomReflectable {
    /// The URL of the token endpoint.
    public let address: String
    /// The value of `Authorization`; nil to omit the field.
    public let authorization: String?
    /// The value of `DPoP` (RFC 9449 §4.1); nil to omit the field.
    public let dpop: String?
    /// A body of type `application/x-www-form-urlencoded`.
    public let body: [UInt8]

    public var description: String { "POST \(address)" }
    public var customMirror: Mirror { Mirror(self, children: ["address": address]) }
}

/// A token endpoint's response. Prints only its status.
public struct TransportResponse: Sendable, CustomStringConvertible, CustomReflectable {
    /// The HTTP status code.
    public let status: Int
    /// The value of `Retry-After` (RFC 9110 §10.2.3).
    public let retryAfter: String?
    /// The value of `X-Request-Id`, for support requests to the operator.
    public let requestID: String?
    /// The value of `DPoP-Nonce` (RFC 9449 §8). Brokers that require nonces do not work without it.
    public let dpopNonce: String?
    /// The body, undecoded.
    public let body: [UInt8]

    /// A response with its header fields; nil for each absent field.
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
