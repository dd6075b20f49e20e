public import NativeSSO
import PostgresClient

/// Which refresh chains are meant.
public enum GrantSelection: Sendable, Hashable {
    case grant(UniqueID)
    /// By its row.
    case sessionRow(UniqueID)
    case session(Issuer, SessionID)
    case subject(Issuer, Subject)
    case client(ClientID)
}

/// One app's refresh chain, and the login that it belongs to.
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
    public let issuer: Issuer
    public let sessionID: SessionID
    /// `nil` for a login that ended before it was ever seen here.
    public let subject: Subject?
}

extension Administration {
    /// The newest first, at most `limit`; `nil`: all.
    /// - Parameters:
    ///   - liveOnly: Only those that are neither revoked nor expired, in sessions that are live.
    ///   - row: Only grants older than this one: where a listing goes on.
    public func grants(
        _ selection: GrantSelection, liveOnly: Bool, limit: Int64?, before row: UniqueID? = nil
    ) async throws(AdministrationError) -> [GrantRecord] {
        let chosen: [PostgresValue] =
            switch selection {
            case .grant(let id): [.uuid(id), .null, .null, .null, .null, .null, .null]
            case .sessionRow(let id): [.null, .uuid(id), .null, .null, .null, .null, .null]
            case .session(let issuer, let sid):
                [.null, .null, .text(issuer.string), .text(sid.string), .null, .null, .null]
            case .subject(let issuer, let subject):
                [.null, .null, .null, .null, .text(issuer.string), .text(subject.string), .null]
            case .client(let client): [.null, .null, .null, .null, .null, .null, .text(client.string)]
            }
        return try await rows(
            GrantStatements.list,
            [.bool(liveOnly), .optionalInt64(limit), row.map { .uuid($0) } ?? .null] + chosen, GrantStatements.record)
    }

    /// Revokes those of the given chains that are not revoked. Each refresh token of them is refused from the commit on; the
    /// app may exchange anew as long as the session lives.
    /// - Returns: Those that this call revoked.
    public func revoke(_ grants: [UniqueID], _ act: AdministrativeAct) async throws(AdministrationError) -> [UniqueID] {
        // As with sessions: those that somebody has come last, one by one.
        var revoked = grants.count > 1 ? try await revoke(GrantStatements.revokeFree, grants, act) : []
        for grant in Set(grants).subtracting(revoked) {
            revoked += try await revoke(GrantStatements.revoke, [grant], act)
        }
        return revoked
    }

    private func revoke(
        _ statement: Statement, _ grants: [UniqueID], _ act: AdministrativeAct
    ) async throws(AdministrationError) -> [UniqueID] {
        try await rows(
            statement,
            [.uuidArray(grants.map(\.octets)), .text(act.actor), .optionalText(act.reason), .uuid(act.requestID)]
        ) { try $0.uniqueID(0) }
    }
}
