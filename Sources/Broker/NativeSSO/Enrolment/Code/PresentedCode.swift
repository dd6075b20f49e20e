import StrictCoding

/// An authorization code with what belongs to it. RFC 6749 §4.1.3, RFC 7636 §4.5. Prints as `****`.
public struct PresentedCode: Sendable, CustomStringConvertible, CustomReflectable {
    public let code: String
    /// As the app gave it to the authorization endpoint.
    public let redirectURI: String
    public let verifier: String

    public init(code: String, redirectURI: String, verifier: String) {
        self.code = code
        self.redirectURI = redirectURI
        self.verifier = verifier
    }

    /// 43 to 128 characters of `[A-Z] / [a-z] / [0-9] / "-" / "." / "_" / "~"`: RFC 7636 §4.1. No other can fit a challenge.
    var hasSoundVerifier: Bool {
        (43...128).contains(verifier.utf8.count) && verifier.utf8.allSatisfy(\.isUnreserved)
    }

    public var description: String { "****" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
