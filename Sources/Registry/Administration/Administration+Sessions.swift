public import NativeSSO
import PostgresClient

/// A session as an operator sees it. Holds nothing that opens anything.
public struct SessionRecord: Sendable, Hashable {
    public let id: UniqueID
    public let issuer: Issuer
    public let sessionID: SessionID
    /// `nil` for a login that ended before it was ever seen here.
    public let subject: Subject?
    public let profile: Profile?
    public let sourceClient: ClientID?
    public let createdAt: UnixTime
    public let expiresAt: UnixTime
    public let lastUsedAt: UnixTime
    public let endedAt: UnixTime?
    public let endReason: String?
    /// How many of its refresh chains are neither revoked nor expired.
    public let liveGrants: Int64
    /// Of the device on which the user logged in, where that is known.
    public let device: DeviceDigest?
}

/// Which sessions are meant.
public enum SessionSelection: Sendable, Hashable {
    case session(Issuer, SessionID)
    case subject(Issuer, Subject)
    case device(DeviceDigest)
    /// Those for which this client logged the user in.
    case client(ClientID)
    case all
}

extension Administration {
    /// The newest first, at most `limit`.
    /// - Parameter row: Only sessions older than this one: where a listing goes on.
    public func sessions(
        _ selection: SessionSelection, liveOnly: Bool, limit: Int64, before row: UniqueID? = nil
    ) async throws(AdministrationError) -> [SessionRecord] {
        let chosen: [PostgresValue] =
            switch selection {
            case .session(let issuer, let sid):
                [.text(issuer.string), .text(sid.string), .null, .null, .null, .null]
            case .subject(let issuer, let subject):
                [.null, .null, .text(issuer.string), .text(subject.string), .null, .null]
            case .device(let digest): [.null, .null, .null, .null, .bytes(digest.octets), .null]
            case .client(let client): [.null, .null, .null, .null, .null, .text(client.string)]
            case .all: [.null, .null, .null, .null, .null, .null]
            }
        return try await rows(
            SessionStatements.list, [.bool(liveOnly), .int64(limit), row.map { .uuid($0) } ?? .null] + chosen,
            SessionStatements.record)
    }

    /// Ends those of the given sessions that are live. From the commit on, every grant of them is refused everywhere.
    /// - Parameters:
    ///   - reason: What the session row and the audit keep, such as `operator`.
    ///   - sameLoginMayReturn: Whether a later id_token of the same login may begin a new session. Otherwise the user must log in
    ///     again at the IdP.
    /// - Returns: The sessions that this call ended.
    public func end(
        _ sessions: [UniqueID], reason: String, sameLoginMayReturn: Bool = false, _ act: AdministrativeAct
    ) async throws(AdministrationError) -> [UniqueID] {
        // Whoever waits for one row while it holds others can be waited for in turn: those that somebody has come last, one
        // by one.
        var ended =
            sessions.count > 1
            ? try await end(sessions, onlyFree: true, reason, sameLoginMayReturn, act) : []
        for session in Set(sessions).subtracting(ended) {
            ended += try await end([session], onlyFree: false, reason, sameLoginMayReturn, act)
        }
        return ended
    }

    private func end(
        _ sessions: [UniqueID], onlyFree: Bool, _ reason: String, _ sameLoginMayReturn: Bool, _ act: AdministrativeAct
    ) async throws(AdministrationError) -> [UniqueID] {
        try await rows(
            SessionStatements.end,
            [
                .uuidArray(sessions.map(\.octets)), .text(reason), .text(act.actor),
                .optionalText(act.reason), .uuid(act.requestID), .bool(onlyFree),
                .bool(sameLoginMayReturn),
            ]
        ) { try $0.uniqueID(0) }
    }
}
