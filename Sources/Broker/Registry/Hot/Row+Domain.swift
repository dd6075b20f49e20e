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
}

// The answers of the hot calls have many columns of few types: each is read by its name.
extension Row {
    func isNull(_ column: String) throws -> Bool { try isNull(self.column(column)) }
    func bool(_ column: String) throws -> Bool { try bool(self.column(column)) }
    func int32(_ column: String) throws -> Int32 { try int32(self.column(column)) }
    func text(_ column: String) throws -> String { try text(self.column(column)) }
    func textArray(_ column: String) throws -> [String] { try textArray(self.column(column)) }
    func instant(_ column: String) throws -> UnixTime { try instant(self.column(column)) }

    func uniqueID(_ column: String) throws -> UniqueID { try uniqueID(self.column(column)) }
    func optionalText(_ column: String) throws -> String? { try optionalText(self.column(column)) }
    func optionalInstant(_ column: String) throws -> UnixTime? { try optionalInstant(self.column(column)) }

    func identifier<Identifier: ProtocolIdentifier>(_ column: String) throws -> Identifier {
        try identifier(try text(column), column)
    }

    func optionalIdentifier<Identifier: ProtocolIdentifier>(_ column: String) throws -> Identifier? {
        try optionalText(column).map { try identifier($0, column) }
    }

    func scopeCeiling() throws -> Scope? {
        try optionalTextArray(column("scope_ceiling")).map { Scope($0) }
    }

    func membership(group: String, role: String, ceiling: Scope?) throws -> Membership? {
        guard let name: GroupID = try optionalIdentifier(group) else { return nil }
        guard let role = Membership.Role(rawValue: try text(role)) else { throw CorruptRow(column: role) }
        return Membership(group: name, role: role, scopeCeiling: ceiling)
    }
}
