package import StrictCoding

/// One answer as it came over the wire.
package struct HTTPAnswer: Sendable {
    package let status: Int
    /// In the order of the answer, repeated ones included.
    package let fields: [(name: String, value: String)]
    package let body: [UInt8]

    package init(status: Int, fields: [(name: String, value: String)], body: [UInt8]) {
        self.status = status
        self.fields = fields
        self.body = body
    }

    /// Every value of a field, whose name is compared without regard to case.
    package func values(of name: String) -> [String] {
        fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    }

    /// The value of a field that is there exactly once.
    package subscript(_ name: String) -> String? {
        let values = values(of: name)
        return values.count == 1 ? values[0] : nil
    }

    /// `X-Request-Id`; empty if the answer has none.
    package var requestID: String { self["X-Request-Id"] ?? "" }

    package var text: String { String(decoding: body, as: UTF8.self) }

    /// The body, if it is one JSON object by the strict reader.
    package var json: JSONObject? { try? JSONReader.parse(body).object }

    /// `error` of an OAuth refusal.
    package var error: String? { json?.string("error") }

    package var refreshToken: String? { json?.string("refresh_token") }
    package var accessToken: String? { json?.string("access_token") }
    package var idToken: String? { json?.string("id_token") }

    /// Whether it says that the key of the presented token is not known yet, which a caller can choose.
    package var isUndecided: Bool {
        error == "temporarily_unavailable" && Int(self["Retry-After"] ?? "") != nil
            && json?.string("error_description") == "The token names a key that is not known yet."
    }

    /// What an outage looks like, to the letter of the contract.
    package var isOutage: Bool {
        status == 503 && error == "temporarily_unavailable" && Int(self["Retry-After"] ?? "") != nil && keepsContract
    }
}

package enum HTTPFailure: Error, Equatable, CustomStringConvertible {
    /// The connection ended in the middle of an answer.
    case cutOff
    case notHTTP(String)
    case refused(port: UInt16, errno: Int32)
    /// Nothing came in time.
    case silence

    package var description: String {
        switch self {
        case .cutOff: "the broker closed a connection in the middle of an answer"
        case .notHTTP(let text): "no HTTP/1.1: \(text)"
        case .refused(let port, let errno): "nothing listens on port \(port) (errno \(errno))"
        case .silence: "the broker sent nothing in time"
        }
    }
}
