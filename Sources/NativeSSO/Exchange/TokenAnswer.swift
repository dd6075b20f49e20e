/// What an exchange or a refresh gives to the app. RFC 8693 §2.2.1, RFC 6749 §5.1.
public struct TokenAnswer: Sendable, CustomStringConvertible, CustomReflectable {
    public let accessToken: String
    /// Whether it is bound to the key of the request's proof: `token_type` is then `DPoP`. RFC 9449 §5.
    public let isBound: Bool
    public let expiresIn: Seconds
    public let scope: Scope
    public let refreshToken: String?
    public let idToken: String?
    /// Whether a refresh gave the successor that an earlier, lost answer already held.
    public let isRedelivery: Bool

    public init(
        accessToken: String, isBound: Bool = false, expiresIn: Seconds, scope: Scope, refreshToken: String?,
        idToken: String?,
        isRedelivery: Bool = false
    ) {
        self.accessToken = accessToken
        self.isBound = isBound
        self.expiresIn = expiresIn
        self.scope = scope
        self.refreshToken = refreshToken
        self.idToken = idToken
        self.isRedelivery = isRedelivery
    }

    public var description: String { "TokenAnswer(****)" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
