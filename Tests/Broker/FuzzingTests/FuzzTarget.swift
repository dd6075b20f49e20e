/// One reader of octets that come from outside, and what must hold whatever it is given. The raw value names its corpus
/// below `Tests/Fuzzing`.
///
/// A trap, a hang or growth is found by whoever runs it; a broken promise is thrown as a ``Violation``.
enum FuzzTarget: String, CaseIterable, Sendable {
    case authorization
    case base64
    case clientAssertion = "client-assertion"
    case configuration
    case databaseURL = "database-url"
    case discovery
    case form
    case forwarded
    case http
    case http2Frames = "http2-frames"
    case http2Head = "http2-head"
    case idToken = "id-token"
    case json
    case jwk
    case jws
    case keySet = "key-set"
    case logoutToken = "logout-token"
    case proof
    case refreshToken = "refresh-token"

    /// Whether the reader accepts these octets.
    func check(_ octets: [UInt8]) throws -> Bool {
        switch self {
        case .authorization: try Readers.authorization(octets)
        case .base64: try Readers.base64(octets)
        case .clientAssertion: try Readers.clientAssertion(octets)
        case .configuration: try Readers.configuration(octets)
        case .databaseURL: try Readers.databaseURL(String(decoding: octets, as: UTF8.self))
        case .discovery: try Readers.discovery(octets)
        case .form: try Readers.form(octets)
        case .forwarded: try Readers.forwarded(octets)
        case .http: try Readers.http(octets)
        case .http2Frames: try Readers.http2Frames(octets)
        case .http2Head: try Readers.http2Head(octets)
        case .idToken: try Readers.idToken(octets)
        case .json: try Readers.json(octets)
        case .jwk: try Readers.jwk(octets)
        case .jws: try Readers.jws(octets)
        case .keySet: try Readers.keySet(octets)
        case .logoutToken: try Readers.logoutToken(octets)
        case .proof: try Readers.proof(octets)
        case .refreshToken: try Readers.refreshToken(octets)
        }
    }
}

/// The check of each target: an extension in the file of its reader.
enum Readers {}

/// A promise that an input broke.
struct Violation: Error, CustomStringConvertible {
    let description: String
}

func hold(_ condition: Bool, _ promise: @autoclosure () -> String) throws {
    if !condition { throw Violation(description: promise()) }
}
