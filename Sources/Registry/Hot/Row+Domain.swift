import NativeSSO
import PostgresClient

/// A row that maps to nothing the domain knows. Thrown rather than guessed at.
struct CorruptRow: Error, CustomStringConvertible {
    let column: String
    var description: String { "column \(column)" }
}

extension Row {
    func instant(_ column: Int) throws -> UnixTime {
        UnixTime(seconds: try timestamp(column).flooredSeconds)
    }

    func optionalInstant(_ column: Int) throws -> UnixTime? {
        try isNull(column) ? nil : instant(column)
    }

    func uniqueID(_ column: Int) throws -> UniqueID {
        guard let id = UniqueID(octets: try uuid(column)) else { throw CorruptRow(column: "\(column)") }
        return id
    }

    func identifier<Identifier: ProtocolIdentifier>(_ text: String, _ column: String) throws -> Identifier {
        guard let identifier = Identifier(text) else { throw CorruptRow(column: column) }
        return identifier
    }

    func membership(group: Int, role: Int, ceiling: Int?) throws -> Membership? {
        guard let name = try optionalText(group) else { return nil }
        guard let role = Membership.Role(rawValue: try text(role)) else { throw CorruptRow(column: "role") }
        return Membership(
            group: try identifier(name, "group_id"), role: role,
            scopeCeiling: try ceiling.flatMap { try optionalTextArray($0) }.map { Scope($0) })
    }

    /// Five columns from `first` on: session_id, subject, ended_at, expires_at, last_used_at; and three from `limits` on:
    /// has_auth_time, iat_after, auth_time_after.
    func session(at first: Int, limitsAt limits: Int? = nil) throws -> SessionFacts? {
        guard try !isNull(first) else { return nil }
        return SessionFacts(
            id: try uniqueID(first), subject: try optionalText(first + 1).map { try identifier($0, "subject") },
            endedAt: try optionalInstant(first + 2), expiresAt: try instant(first + 3),
            lastUsedAt: try instant(first + 4), hasAuthTime: try limits.map { try bool($0) } ?? false,
            iatAfter: try limits.flatMap { try optionalInstant($0 + 1) },
            authTimeAfter: try limits.flatMap { try optionalInstant($0 + 2) })
    }

    func grant(id: Int, generation: Int, expiresAt: Int) throws -> GrantFacts? {
        guard try !isNull(id) else { return nil }
        return GrantFacts(
            id: try uniqueID(id), generation: try int32(generation), expiresAt: try instant(expiresAt))
    }
}
