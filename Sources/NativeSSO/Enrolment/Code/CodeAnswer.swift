/// What an app gets for its code: the identity provider's access and refresh token as they are, and an id_token that its sibling
/// apps can use, if the login was enrolled. Prints as `****`.
public struct CodeAnswer: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    /// The identity provider's; `idToken` too where nothing was enrolled.
    public var tokens: ProviderTokens
    /// In the current profile; then the id_token is this broker's. Native SSO §3.4: both or neither.
    public var deviceSecret: String?

    public init(tokens: ProviderTokens, deviceSecret: String?) {
        self.tokens = tokens
        self.deviceSecret = deviceSecret
    }

    public var description: String { "CodeAnswer(****)" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
