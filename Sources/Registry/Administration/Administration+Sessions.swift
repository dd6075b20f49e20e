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
}

/// One app's refresh chain in a session.
public struct GrantRecord: Sendable, Hashable {
    public let id: UniqueID
    public let client: ClientID
    public let generation: Int32
    public let rotatedAt: UnixTime
    public let scope: Scope
    public let createdAt: UnixTime
    public let expiresAt: UnixTime
    public let revokedAt: UnixTime?
    public let revokeReason: String?
}

/// Which sessions are meant.
public enum SessionSelection: Sendable, Hashable {
    case session(Issuer, SessionID)
    case subject(Issuer, Subject)
    case all
}

extension Administration {
    /// The newest first, at most `limit`.
    public func sessions(
        _ selection: SessionSelection, liveOnly: Bool, limit: Int64
    ) async throws(AdministrationError) -> [SessionRecord] {
        switch selection {
        case .session(let issuer, let sid):
            try await rows(
                SessionStatements.bySID, [.bool(liveOnly), .int64(limit), .text(issuer.string), .text(sid.string)],
                SessionStatements.record)
        case .subject(let issuer, let subject):
            try await rows(
                SessionStatements.bySubject,
                [.bool(liveOnly), .int64(limit), .text(issuer.string), .text(subject.string)],
                SessionStatements.record)
        case .all:
            try await rows(SessionStatements.all, [.bool(liveOnly), .int64(limit)], SessionStatements.record)
        }
    }

    /// Every refresh chain of the session, dead ones included.
    public func grants(of session: UniqueID) async throws(AdministrationError) -> [GrantRecord] {
        try await rows(SessionStatements.grants, [.uuid(session)], SessionStatements.grant)
    }

    /// Ends those of the given sessions that are live. From the commit on, every grant of them is refused everywhere.
    /// - Parameter reason: What the session row and the audit keep, such as `operator`.
    /// - Returns: The sessions that this call ended.
    public func end(
        _ sessions: [UniqueID], reason: String, _ act: AdministrativeAct
    ) async throws(AdministrationError) -> [UniqueID] {
        try await rows(
            SessionStatements.end,
            [
                .uuidArray(sessions.map(\.octets)), .text(reason), .text(act.actor),
                act.reason.map(PostgresValue.text) ?? .null,
            ]
        ) { try $0.uniqueID(0) }
    }
}
