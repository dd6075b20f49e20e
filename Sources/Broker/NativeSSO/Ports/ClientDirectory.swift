/// Clients and scopes as of the last few seconds: serves identification, authentication and everything that only
/// depends on a client's registration. Whether an app may share a login *now* is decided by ``GrantRegistry``.
public protocol ClientDirectory: Sendable {
    /// `nil` for an unknown client. Throws an outage where the directory was never loaded.
    func client(_ id: ClientID) throws(PortError) -> Client?

    /// What the client proves itself with; nothing for a public or an unknown one.
    func credentials(of id: ClientID) throws(PortError) -> ClientCredentials

    /// The scope tokens that need the user's consent.
    var scopesRequiringConsent: Scope { get throws(PortError) }
}
