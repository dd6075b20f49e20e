import OAuthWire

/// Sends requests. `NativeSSOURLSession` and `NativeSSOAsyncHTTPClient` have one each.
public protocol HTTPTransport: Sendable {
    /// Sends one request and returns the response, whatever its status. Must not follow redirects, and must keep no
    /// cookies and no copy of the response.
    ///
    /// - Throws: Only if there is no response.
    func send(_ request: TransportRequest) async throws -> TransportResponse
}

/// A field of an HTTP message.
public typealias TransportField = (name: String, value: String)

/// A request to an endpoint or an API. Prints only its method and address, because the rest contains secrets.
public struct TransportRequest: Sendable, CustomStringConvertible, CustomReflectable {
    /// The HTTP method.
    public var method: String
    /// The URL.
    public var address: String
    /// The header fields, without `Host` and `Content-Length`.
    public var fields: [TransportField]
    /// Empty for a request without a body.
    public var body: [UInt8]

    /// A request, by default a GET without fields.
    public init(_ address: String, method: String = "GET", fields: [TransportField] = [], body: [UInt8] = []) {
        self.address = address
        self.method = method
        self.fields = fields
        self.body = body
    }

    /// A form for a token endpoint, or another endpoint with its rules.
    init(form: [(name: String, value: String)], to address: String, _ fields: [TransportField]) {
        self.init(
            address, method: "POST",
            fields: [("Content-Type", "application/x-www-form-urlencoded"), ("Accept", "application/json")] + fields,
            body: FormEncoder.encode(form))
    }

    /// The value of the first field with this name; names are compared without regard to case (RFC 9110 §5.1).
    public subscript(field name: String) -> String? { fields.value(of: name) }

    public var description: String { "\(method) \(address)" }
    public var customMirror: Mirror { Mirror(self, children: ["method": method, "address": address]) }
}

/// An endpoint's response. Prints only its status.
public struct TransportResponse: Sendable, CustomStringConvertible, CustomReflectable {
    /// The HTTP status code.
    public let status: Int
    /// Every header field, as received.
    public let fields: [TransportField]
    /// The body, undecoded.
    public let body: [UInt8]

    /// A response as received. Brokers that require nonces do not work without `DPoP-Nonce` (RFC 9449 §8).
    public init(status: Int, fields: [TransportField] = [], body: [UInt8] = []) {
        self.status = status
        self.fields = fields
        self.body = body
    }

    /// The value of the first field with this name; names are compared without regard to case (RFC 9110 §5.1).
    public subscript(field name: String) -> String? { fields.value(of: name) }

    public var description: String { "status \(status)" }
    public var customMirror: Mirror { Mirror(self, children: ["status": status]) }
}

extension [TransportField] {
    fileprivate func value(of name: String) -> String? {
        first { $0.name.utf8.elementsEqual(name.utf8, by: { $0.lowercasedASCII == $1.lowercasedASCII }) }?.value
    }
}

extension UInt8 {
    fileprivate var lowercasedASCII: UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self
    }
}

/// Where secrets may go.
enum SecureAddress {
    /// Whether secrets may be sent to `address`: `https`, or `http` at this machine.
    static func isSecure(_ address: String) -> Bool {
        if address.utf8.starts(with: "https://".utf8) { return true }
        return ["http://127.0.0.1", "http://[::1]", "http://localhost"].contains { host in
            guard address.utf8.starts(with: host.utf8) else { return false }
            var rest = address.utf8.dropFirst(host.utf8.count)
            // Only a port may follow: `http://localhost:x@evil.example` leads elsewhere.
            if rest.first == UInt8(ascii: ":") {
                rest = rest.dropFirst().drop { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            }
            return rest.isEmpty || rest.first == UInt8(ascii: "/")
        }
    }
}
