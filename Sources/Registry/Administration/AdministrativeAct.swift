public import NativeSSO
import PostgresClient
import StrictCoding

/// Who changes something, and why: recorded in the transaction that changes it.
public struct AdministrativeAct: Sendable, Hashable {
    /// The operating system's user, and the one behind `sudo`.
    public let actor: String
    public let reason: String?
    /// Under which all that it does is recorded: `native-sso explain` leads from it to that.
    public let requestID: UniqueID

    public init(actor: String, reason: String?, requestID: UniqueID) {
        self.actor = actor
        self.reason = reason
        self.requestID = requestID
    }

    static let record = Statement("SELECT native_sso.record_administration($1, $2, $3, $4::text::jsonb, $5)")

    /// - Parameters:
    ///   - details: What was changed, by name. Never a secret.
    func parameters(kind: AuditKind, details: [(String, String)]) -> [PostgresValue] {
        var json = JSONWriter()
        json.object { json in for (name, value) in details { json.member(name, value) } }
        return [
            .text(kind.rawValue), .text(actor), reason.map(PostgresValue.text) ?? .null,
            .text(String(decoding: json.bytes, as: UTF8.self)), .uuid(requestID),
        ]
    }
}
