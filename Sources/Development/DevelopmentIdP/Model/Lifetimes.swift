/// How long things live, in seconds. Short values make expiry visible in a demonstration.
public struct Lifetimes: Sendable, Equatable {
    /// An authorization code. RFC 6749 §4.1.2 allows ten minutes; a local redirect needs far less.
    public var code: Int64 = 60
    public var idToken: Int64 = 300
    public var accessToken: Int64 = 300
    /// From the first token of a login; rotation does not extend it.
    public var refreshToken: Int64 = 30 * 86_400
    /// The browser's single sign-on session.
    public var session: Int64 = 12 * 3_600
    /// How long a login page may stay open.
    public var loginPage: Int64 = 600

    public init() {}
}
