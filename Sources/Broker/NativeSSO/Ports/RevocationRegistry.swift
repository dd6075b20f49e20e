/// Ends of grants and sessions by their app, and whether a grant is alive: implemented by `Registry` on PostgreSQL.
///
/// Each method returns when what it did is committed.
package protocol RevocationRegistry: Sendable {
    /// Ends a grant of this client. Ending it again is harmless.
    func end(_ grant: UniqueID, of client: ClientID, requestID: UniqueID) async throws(PortError) -> GrantEnd

    /// Ends the sessions of a device in the client's groups.
    /// - Parameters:
    ///   - devices: The digest of the device value at each issuer.
    ///   - grant: If given, a grant on this device that must be the client's and alive. Otherwise nothing ends.
    /// - Returns: The number of sessions that this call ended.
    func signOut(
        _ devices: [Issuer: DeviceDigest], of client: ClientID, holding grant: UniqueID?, requestID: UniqueID
    ) async throws(PortError) -> Int64

    /// Whether the session of an access token and the client's grant in it are alive.
    /// - Parameters:
    ///   - issuedAt: `iat` of the token. A grant that began later is not the token's.
    ///   - idle: Longest time between two uses of a session.
    func isLive(
        _ session: UniqueID, of client: ClientID, issuedAt: UnixTime, idle: Seconds
    ) async throws(PortError) -> Bool
}

/// What the end of a grant found. The raw value is the database's.
package enum GrantEnd: String, Sendable, CaseIterable {
    /// This call ended it.
    case ended
    /// There is no such grant, or it was revoked before.
    case none
    /// It is another client's. Nothing ended.
    case foreign
}
