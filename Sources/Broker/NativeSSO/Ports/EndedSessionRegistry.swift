/// Ends of sessions that resource servers must learn of: implemented by `Registry` on PostgreSQL.
package protocol EndedSessionRegistry: Sendable {
    /// The next ends for a resource server, in order. Only sessions whose access tokens may be for it.
    /// - Parameters:
    ///   - receiver: The name of the process that polls. Each has its own position.
    ///   - acknowledged: Sessions whose ends it has processed. They do not come again.
    ///   - life: Longest life of an access token. Older ends are left out.
    func next(
        for client: ClientID, receiver: String, acknowledged: [UniqueID], limit: Int64, life: Seconds
    ) async throws(PortError) -> [EndedSession]

    /// Grows with every end, of whatever session, once it is committed.
    func lastPosition() async throws(PortError) -> Int64
}

/// The end of a session.
package struct EndedSession: Sendable, Hashable {
    /// `session_id` of its access tokens.
    package let id: UniqueID
    /// When it ended.
    package let endedAt: UnixTime
    /// As the database has it, such as `logout`, `app` or `operator`.
    package let reason: String

    package init(id: UniqueID, endedAt: UnixTime, reason: String) {
        self.id = id
        self.endedAt = endedAt
        self.reason = reason
    }
}
