public import NativeSSO
import PostgresClient

/// Which refresh chains are meant.
public enum GrantSelection: Sendable, Hashable {
    case grant(UniqueID)
    case session(Issuer, SessionID)
    case subject(Issuer, Subject)
    case client(ClientID)
}

/// A refresh chain with the login that it belongs to.
public struct GrantListing: Sendable, Hashable {
    public let grant: GrantRecord
    public let issuer: Issuer
    public let sessionID: SessionID
    /// `nil` for a login that ended before it was ever seen here.
    public let subject: Subject?
}

extension Administration {
    /// The newest first, at most `limit`.
    /// - Parameters:
    ///   - liveOnly: Only those that are neither revoked nor expired, in sessions that are live.
    ///   - row: Only grants older than this one: where a listing goes on.
    public func grants(
        _ selection: GrantSelection, liveOnly: Bool, limit: Int64, before row: UniqueID? = nil
    ) async throws(AdministrationError) -> [GrantListing] {
        let (statement, parameters): (Statement, [PostgresValue]) =
            switch selection {
            case .grant(let id): (GrantStatements.byID, [.uuid(id)])
            case .session(let issuer, let sid): (GrantStatements.bySession, [.text(issuer.string), .text(sid.string)])
            case .subject(let issuer, let subject):
                (GrantStatements.bySubject, [.text(issuer.string), .text(subject.string)])
            case .client(let client): (GrantStatements.byClient, [.text(client.string)])
            }
        return try await rows(
            statement, [.bool(liveOnly), .int64(limit), row.map { .uuid($0) } ?? .null] + parameters,
            GrantStatements.listing)
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
