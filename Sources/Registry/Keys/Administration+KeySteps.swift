public import NativeSSO
import PostgresClient

/// A key on its way from one state to the next.
public struct KeyTransition: Sendable, Hashable {
    public let kid: String
    /// The states as `signing_key` names them.
    public let from: String
    public let to: String

    public init(kid: String, from: String, to: String) {
        self.kid = kid
        self.from = from
        self.to = to
    }
}

extension Administration {
    /// By the clock that dates the rows.
    public func now() async throws(AdministrationError) -> UnixTime {
        guard let now = try await rows(KeyStepStatements.now, [], { try $0.instant(0) }).first else {
            throw .corrupt(column: "now")
        }
        return now
    }

    /// Takes every step, in this order, or none: if a key is no longer in the state that it is to leave, somebody else
    /// was faster, and nothing is changed.
    /// - Parameter isForced: Whether a waiting time was waived; for the audit.
    public func move(
        _ transitions: [KeyTransition], isForced: Bool, _ act: AdministrativeAct
    ) async throws(AdministrationError) {
        let kinds = transitions.compactMap { AuditKind(rawValue: "key_\($0.to)") }
        guard kinds.count == transitions.count else { throw .refused("there is no such state of a key") }
        do throws(PostgresError) {
            try await pool.withTransaction { transaction throws(PostgresError) in
                for (step, kind) in zip(transitions, kinds) {
                    let rows = try transaction.query(
                        KeyStepStatements.move, [.text(step.kid), .text(step.from), .text(step.to)])
                    guard !rows.isEmpty else { throw KeyStepStatements.overtaken }  // and what went before is undone
                    _ = try transaction.query(
                        AdministrativeAct.record,
                        act.parameters(
                            kind: kind,
                            details: [("kid", step.kid), ("old_state", step.from), ("forced", String(isForced))]))
                }
            }
        } catch {
            guard error != KeyStepStatements.overtaken else {
                throw .refused("the key is no longer in the state that it was in")
            }
            throw AdministrationError(changing: error)
        }
    }
}

enum KeyStepStatements {
    static let all = [now, move]
    /// no_data: what rolls the transaction back.
    static let overtaken = PostgresError.server(SQLState("02000"), message: "", constraint: nil)

    static let now = Statement("SELECT now()")

    /// $1 kid, $2 the state to leave, $3 the state to enter.
    static let move = Statement(
        """
        UPDATE native_sso.signing_key SET state = $3::text,
            published_at = CASE WHEN $3::text = 'published' THEN now() ELSE published_at END,
            activated_at = CASE WHEN $3::text = 'active' THEN now() ELSE activated_at END,
            retired_at = CASE WHEN $3::text = 'retired' THEN now() ELSE retired_at END,
            removed_at = CASE WHEN $3::text = 'removed' THEN now() ELSE removed_at END
        WHERE kid = $1 AND state = $2
        RETURNING 1
        """)
}
