import NativeSSO
import PostgresClient

/// A column whose value the domain does not know.
struct CorruptRow: Error, CustomStringConvertible {
    let column: String
    var description: String { "column \(column)" }
}

extension Row {
    func instant(_ column: Int) throws -> UnixTime { UnixTime(seconds: try timestamp(column).flooredSeconds) }

    func optionalInstant(_ column: Int) throws -> UnixTime? { try isNull(column) ? nil : instant(column) }

    /// Since when something is refused, such as the logins of a suspended identity provider. A time that cannot be read is
    /// 1970: it is refused all the same.
    func sinceWhen(_ column: Int) -> UnixTime { (try? instant(column)) ?? UnixTime(seconds: 0) }

    func origin(_ text: String, _ column: String) throws -> WebOrigin {
        guard let origin = WebOrigin(text) else { throw CorruptRow(column: column) }
        return origin
    }

    func uniqueID(_ column: Int) throws -> UniqueID {
        guard let id = UniqueID(octets: try uuid(column)[...]) else { throw CorruptRow(column: "\(column)") }
        return id
    }

    func identifier<Identifier: ProtocolIdentifier>(_ text: String, _ column: String) throws -> Identifier {
        guard let identifier = Identifier(text) else { throw CorruptRow(column: column) }
        return identifier
    }
}

extension RawRepresentable<String> {
    init(_ text: String, _ column: String) throws {
        guard let value = Self(rawValue: text) else { throw CorruptRow(column: column) }
        self = value
    }
}

// By name: the answers of the hot calls have many columns of few types.
extension Row {
    func isNull(_ column: String) throws -> Bool { try isNull(self.column(column)) }
    func bool(_ column: String) throws -> Bool { try bool(self.column(column)) }
    func int32(_ column: String) throws -> Int32 { try int32(self.column(column)) }
    func text(_ column: String) throws -> String { try text(self.column(column)) }
    func bytes(_ column: String) throws -> [UInt8] { try bytes(self.column(column)) }
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

    func copiedClaims() throws -> CopiedClaims {
        guard let text = try optionalText("claims") else { return CopiedClaims() }
        guard let claims = CopiedClaims(text: text) else { throw CorruptRow(column: "claims") }
        return claims
    }

    func scopeCeiling() throws -> Scope? { try optionalTextArray(column("scope_ceiling")).map { Scope($0) } }

    func membership(group: String, role: String, ceiling: @autoclosure () throws -> Scope?) throws -> Membership? {
        guard let name: GroupID = try optionalIdentifier(group) else { return nil }
        return Membership(group: name, role: try Membership.Role(try text(role), role), scopeCeiling: try ceiling())
    }
}

extension PostgresValue {
    static func uuid(_ id: UniqueID) -> PostgresValue { .uuid(id.octets) }

    /// `null` only for `nil`.
    /// - Throws: `.broken` for an instant outside the years 1 to 9999.
    static func instant(_ instant: UnixTime?) throws(PortError) -> PostgresValue {
        guard let instant else { return .null }
        guard years1To9999.contains(instant.seconds) else { throw .broken("an instant that no row can hold") }
        return .timestamp(instant.seconds * 1_000_000)
    }

    /// For comparisons: an instant outside the years 1 to 9999 counts as their beginning or end.
    static func clamped(_ instant: UnixTime?) -> PostgresValue {
        guard let instant else { return .null }
        let seconds = min(max(instant.seconds, years1To9999.lowerBound), years1To9999.upperBound)
        return .timestamp(seconds * 1_000_000)
    }

    /// At least 1970. Request checks refuse an older token for its age.
    static func pastInstant(_ instant: UnixTime) throws(PortError) -> PostgresValue {
        try .instant(max(instant, UnixTime(seconds: 0)))
    }

    fileprivate static let years1To9999: ClosedRange<Int64> = -62_135_596_800...253_402_300_799
}

extension EncodedParameters {
    mutating func append(_ id: UniqueID) { append(uuid: id.high, id.low) }
    mutating func append(_ id: UniqueID?) { if let id { append(uuid: id.high, id.low) } else { appendNull() } }

    /// NULL only for `nil`. An instant outside the years 1 to 9999 is refused, as by PostgreSQL.
    mutating func append(_ instant: UnixTime?) {
        append(
            timestamp: instant.map { PostgresValue.years1To9999.contains($0.seconds) ? $0.seconds * 1_000_000 : .min })
    }

    /// At least 1970. Request checks refuse an older token for its age.
    mutating func append(past instant: UnixTime) { append(max(instant, UnixTime(seconds: 0))) }

    /// Four parameters, attributes of `native_sso.shown`: the assertion and the end of its retention, the proof and the
    /// seconds of its retention.
    mutating func append(shown assertion: PresentedAssertion?, _ proof: PresentedProof?) {
        append(assertion?.id.digest)
        append(assertion?.until)
        append(proof?.id.digest)
        append(proof?.life.count)
    }
}
