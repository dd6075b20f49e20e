import NativeSSO
import Registry
import StrictCoding

/// One session and the grants in it.
struct SessionReport: CommandResult {
    let session: SessionRecord
    let grants: [GrantRecord]

    var lines: [String] { Record(session).lines + [""] + Table(grants).lines }

    func write(to json: inout JSONWriter) {
        // The members `session` and `grants`, the latter as a list of its own has it.
        var (record, list) = (JSONWriter(), JSONWriter())
        Record(session).write(to: &record)
        list.array { json in for grant in grants { Record(grant).write(to: &json) } }
        json.object { json in
            json.member("session", raw: record.bytes)
            json.member("grants", raw: list.bytes)
        }
    }
}

extension Record {
    init(_ session: SessionRecord) {
        self.init([
            ("session_id", .text(session.id.description)), ("issuer", .text(session.issuer.string)),
            ("sid", .text(session.sessionID.string)), ("sub", Cell(session.subject?.string)),
            ("profile", Cell(session.profile?.rawValue)),
            ("device", Cell(session.device.map { Hexadecimal.encode($0.octets) })),
            ("source_client", Cell(session.sourceClient?.string)),
            ("created_at", .instant(session.createdAt)), ("expires_at", .instant(session.expiresAt)),
            ("last_used_at", .instant(session.lastUsedAt)), ("ended_at", Cell(session.endedAt)),
            ("end_reason", Cell(session.endReason)), ("live_grants", .number(session.liveGrants)),
        ])
    }
}

extension Record {
    init(_ grant: GrantRecord) {
        self.init(zip(Table.grantColumns, Table.cells(grant)).map { ($0, $1) })
    }
}

extension Table {
    init(_ sessions: [SessionRecord]) {
        self.init(
            "sessions",
            columns: [
                "issuer", "sid", "sub", "source_client", "created_at", "last_used_at", "expires_at", "ended_at",
                "live_grants",
            ])
        for session in sessions {
            append([
                .text(session.issuer.string), .text(session.sessionID.string), Cell(session.subject?.string),
                Cell(session.sourceClient?.string), .instant(session.createdAt), .instant(session.lastUsedAt),
                .instant(session.expiresAt), Cell(session.endedAt), .number(session.liveGrants),
            ])
        }
    }

    init(_ grants: [GrantRecord]) {
        self.init("grants", columns: Self.grantColumns)
        for grant in grants { append(Self.cells(grant)) }
    }

    fileprivate static let grantColumns = [
        "grant_id", "client_id", "generation", "rotated_at", "scope", "created_at", "expires_at", "revoked_at",
        "revoke_reason",
    ]

    fileprivate static func cells(_ grant: GrantRecord) -> [Cell] {
        [
            .text(grant.id.description), .text(grant.client.string), .number(Int64(grant.generation)),
            .instant(grant.rotatedAt), .list(grant.scope.tokens), .instant(grant.createdAt), .instant(grant.expiresAt),
            Cell(grant.revokedAt), Cell(grant.revokeReason),
        ]
    }
}

extension Cell {
    init(_ text: String?) { self = text.map(Cell.text) ?? .none }
}
