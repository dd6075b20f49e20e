/// What must be known of the first line of a request where the parser refuses it without saying enough. RFC 9112 §3.
///
/// Only the beginning: whether a method is there that this parser happens not to know, and how long the line is.
struct RequestLine {
    private enum State {
        /// Empty lines may come first, RFC 9112 §2.2.
        case before
        case method
        case afterMethod
        case ended
    }

    private var state = State.before
    /// Octets of the line so far.
    private(set) var length = 0
    /// Whether the line begins with what may be a method, or with all that has come of one: a token. RFC 9110 §9.1.
    private(set) var hasMethod = false

    mutating func scan(_ octets: some Collection<UInt8>) {
        for octet in octets {
            switch state {
            case .before where Self.isLineEnd(octet): continue
            case .before: state = .method
            case .ended: return
            case .method, .afterMethod: break
            }
            if Self.isLineEnd(octet) {
                if case .method = state { hasMethod = false }  // a line of one word
                state = .ended
                return
            }
            length += 1
            guard case .method = state else { continue }
            if octet == UInt8(ascii: " "), length > 1 {
                state = .afterMethod
            } else {
                hasMethod = Token.contains(octet)
                if !hasMethod { state = .afterMethod }
            }
        }
    }

    private static func isLineEnd(_ octet: UInt8) -> Bool { octet == 0x0D || octet == 0x0A }
}

/// RFC 9110 §5.6.2.
enum Token {
    static func contains(_ octet: UInt8) -> Bool {
        switch octet {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: marks.contains(octet)
        }
    }

    private static let marks = Array("!#$%&'*+-.^_`|~".utf8)
}
