import PostgresClient
import StrictCoding

/// Who changes something, and why: recorded in the transaction that changes it.
public struct AdministrativeAct: Sendable, Hashable {
    /// The operating system's user, and the one behind `sudo`.
    public let actor: String
    public let reason: String?

    public init(actor: String, reason: String?) {
        self.actor = actor
        self.reason = reason
    }

    static let record = Statement("SELECT native_sso.record_administration($1, $2, $3, $4::text::jsonb)")

    /// - Parameters:
    ///   - kind: From a closed list of this room, such as `client_added`.
    ///   - details: What was changed, by name. Never a secret.
    func parameters(kind: String, details: [(String, String)]) -> [PostgresValue] {
        var json = JSONWriter()
        json.object { json in for (name, value) in details { json.member(name, value) } }
        return [
            .text(kind), .text(actor), reason.map(PostgresValue.text) ?? .null,
            .text(String(decoding: json.bytes, as: UTF8.self)),
        ]
    }
}
