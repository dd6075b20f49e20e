/// What an app gets for its code: the identity provider's access and refresh token as they are, and an id_token that its sibling
/// apps can use, if the login was enrolled. Prints as `****`.
public struct CodeAnswer: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    /// The identity provider's; `idToken` too where nothing was enrolled.
    public var tokens: ProviderTokens
    /// Of whoever signed the id_token, in the current profile: this broker's where the login was enrolled, else the identity
    /// provider's, if it gave one. Native SSO §3.4: both or neither.
    public var deviceSecret: String?

    public init(tokens: ProviderTokens, deviceSecret: String?) {
        self.tokens = tokens
        self.deviceSecret = deviceSecret
    }

    public var description: String { "CodeAnswer(****)" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
