public import StrictCoding

/// One answer as it came over the wire.
public struct HTTPAnswer: Sendable {
    public let status: Int
    /// In the order of the answer, repeated ones included.
    public let fields: [Field]
    public let body: [UInt8]

    public struct Field: Sendable {
        public let name: String
        public let value: String

        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    public init(status: Int, fields: [Field], body: [UInt8]) {
        self.status = status
        self.fields = fields
        self.body = body
    }

    /// Every value of a field, whose name is compared without regard to case.
    public func values(of name: String) -> [String] {
        fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    }

    /// The value of a field that is there exactly once.
    public subscript(_ name: String) -> String? {
        let values = values(of: name)
        return values.count == 1 ? values[0] : nil
    }

    public var text: String { String(decoding: body, as: UTF8.self) }

    /// The body, if it is one JSON object by the strict reader.
    public var json: JSONObject? { try? JSONReader.parse(body).object }

    /// `error` of an OAuth refusal.
    public var error: String? { json?.string("error") }
}

public enum HTTPFailure: Error, Equatable, CustomStringConvertible {
    /// The connection ended in the middle of an answer.
    case cutOff
    case notHTTP(String)
    case refused(port: UInt16, errno: Int32)
    /// Nothing came in time.
    case silence

    public var description: String {
        switch self {
        case .cutOff: "the broker closed a connection in the middle of an answer"
        case .notHTTP(let text): "no HTTP/1.1: \(text)"
        case .refused(let port, let errno): "nothing listens on port \(port) (errno \(errno))"
        case .silence: "the broker sent nothing in time"
        }
    }
}
