/// How long things live, in seconds. Short values make expiry visible in a demonstration.
package struct Lifetimes: Sendable, Equatable {
    /// An authorization code. RFC 6749 §4.1.2 allows ten minutes; a local redirect needs far less.
    package var code: Int64 = 60
    package var idToken: Int64 = 300
    package var accessToken: Int64 = 300
    /// From the first token of a login; rotation does not extend it.
    package var refreshToken: Int64 = 30 * 86_400
    /// The browser's single sign-on session.
    package var session: Int64 = 12 * 3_600
    /// How long a login page may stay open.
    package var loginPage: Int64 = 600

    package init() {}
}
