package import NativeSSO
package import PostgresClient

/// The keys that are not removed, oldest first.
package struct SigningKeys: Sendable, Hashable {
    package let records: [KeyRecord]
    /// Keys whose row this version cannot read, such as one with a use, algorithm or state of a newer version: their use,
    /// by `kid`.
    package let unknown: [String: String]

    fileprivate init(_ rows: [(kid: String, use: String, record: KeyRecord?)]) {
        records = rows.compactMap(\.record)
        unknown = Dictionary(rows.filter { $0.record == nil }.map { ($0.kid, $0.use) }) { first, _ in first }
    }
}

/// The table `signing_key` for the service.
package struct SigningKeyStore: Sendable {
    private let database: any StatementExecutor

    package init(database: any StatementExecutor) { self.database = database }

    package func keys() async throws(PortError) -> SigningKeys {
        SigningKeys(try await database.all(SigningKeyStatements.all, [], of: "signing_key", SigningKeyStatements.row))
    }
}

extension Administration {
    /// Registers a generated key: active if its use has no active key, otherwise published; or pending, on request.
    ///
    /// Returns the state. If it throws anything but `outcomeUnknown`, the key is not registered, and its private part
    /// may be destroyed.
    package func addKey(
        _ key: KeyRecord, isPending: Bool = false, _ act: AdministrativeAct
    ) async throws(AdministrationError) -> KeyState {
        let addition = Change(
            SigningKeyStatements.insert,
            [
                .text(key.kid), .text(key.use.rawValue), .text(key.algorithm.rawValue), .text(key.reference),
                .optionalText(key.publicJWK), .bool(isPending),
                .optionalText(key.replica),
            ], as: .keyAdded,
            details: { state in
                [
                    ("kid", key.kid), ("use", key.use.rawValue), ("algorithm", key.algorithm.rawValue),
                    ("state", state.rawValue),
                ]
            },
            orElse: .alreadyExists("key \(key.kid)"),
            violating: [
                "signing_key_successor": .refused(
                    "a successor is published already: activate it, with native-sso key activate, or retire it")
            ],
            returning: { row throws(PostgresError) in KeyState(rawValue: try row.text(0)) ?? .pending })
        return try await change(addition, act)
    }

    package func keys() async throws(AdministrationError) -> SigningKeys {
        SigningKeys(try await rows(SigningKeyStatements.all, [], SigningKeyStatements.row))
    }
}

enum SigningKeyStatements {
    static let all = Statement(
        """
        SELECT kid::text, use, algorithm, reference, public_jwk::text, state, created_at, published_at, activated_at,
            retired_at, suspended_at, replica::text
        FROM native_sso.signing_key WHERE state <> 'removed' ORDER BY use, created_at, kid
        """)

    /// $1 kid, $2 use, $3 algorithm, $4 reference, $5 public JWK, $6 whether it stays pending, $7 replica.
    static let insert = Statement(
        """
        INSERT INTO native_sso.signing_key (
            kid, use, algorithm, reference, public_jwk, state, created_at, published_at, activated_at, replica)
        SELECT $1, $2, $3, $4, $5::text::jsonb,
            CASE WHEN $6 THEN 'pending' WHEN first THEN 'active' ELSE 'published' END, now(),
            CASE WHEN NOT $6 THEN now() END, CASE WHEN first AND NOT $6 THEN now() END, $7
        FROM (SELECT NOT EXISTS (
            SELECT FROM native_sso.signing_key WHERE use = $2 AND state = 'active') AS first) AS state_of
        ON CONFLICT (kid) DO NOTHING
        RETURNING state
        """)

    static func row(_ row: Row) -> (kid: String, use: String, record: KeyRecord?) {
        ((try? row.text(0)) ?? "?", (try? row.text(1)) ?? "?", try? record(row))
    }

    private static func record(_ row: Row) throws -> KeyRecord {
        KeyRecord(
            kid: try row.text(0), use: try KeyUse(try row.text(1), "use"),
            algorithm: try KeyAlgorithm(try row.text(2), "algorithm"), reference: try row.text(3),
            publicJWK: try row.optionalText(4), state: try KeyState(try row.text(5), "state"),
            createdAt: try row.instant(6), publishedAt: try row.optionalInstant(7),
            activatedAt: try row.optionalInstant(8), retiredAt: try row.optionalInstant(9),
            suspendedAt: try row.isNull(10) ? nil : row.sinceWhen(10), replica: try row.optionalText(11))
    }
}

package struct KeyTransition: Sendable, Hashable {
    package let kid: String
    package let from: KeyState
    package let to: KeyState

    package static func all(from before: [KeyRecord], to after: [KeyRecord]) -> [KeyTransition] {
        after.compactMap { record in
            before.first { $0.kid == record.kid }.map {
                KeyTransition(kid: record.kid, from: $0.state, to: record.state)
            }
        }
    }
}

extension Administration {
    /// The database's clock, which dates the rows.
    package func now() async throws(AdministrationError) -> UnixTime {
        guard let now = try await rows(KeyStepStatements.now, [], { try $0.instant(0) }).first else {
            throw .corrupt(column: "now")
        }
        return now
    }

    /// Performs all transitions in order, or none. If a key has left its expected state, another operator was faster,
    /// and nothing changes.
    /// - Parameter isForced: Whether a waiting period was skipped; for the audit.
    package func move(
        _ transitions: [KeyTransition], isForced: Bool, _ act: AdministrativeAct
    ) async throws(AdministrationError) {
        let kinds = transitions.compactMap { AuditKind(rawValue: "key_\($0.to.rawValue)") }
        guard kinds.count == transitions.count else { throw .refused("there is no such state of a key") }
        do throws(PostgresError) {
            try await pool.withTransaction { transaction throws(PostgresError) in
                for (step, kind) in zip(transitions, kinds) {
                    let rows = try transaction.query(
                        KeyStepStatements.move, [.text(step.kid), .text(step.from.rawValue), .text(step.to.rawValue)])
                    guard !rows.isEmpty else { throw KeyStepStatements.overtaken }  // rolls back the earlier steps
                    let details = [("kid", step.kid), ("old_state", step.from.rawValue), ("forced", String(isForced))]
                    _ = try transaction.query(AdministrativeAct.record, act.parameters([(kind, details)]))
                }
            }
        } catch {
            guard error != KeyStepStatements.overtaken else {
                throw .refused("the key is no longer in the state that it was in")
            }
            throw AdministrationError(changing: error)
        }
    }

    /// Keeps keys from signing, or lets them sign again.
    /// - Returns: The `kid` of the keys that this call changed. The others were so already, or sign nothing any more.
    package func suspend(
        _ keys: [KeyRecord], _ isSuspended: Bool, _ act: AdministrativeAct
    ) async throws(AdministrationError) -> [String] {
        do throws(PostgresError) {
            return try await pool.withTransaction { transaction throws(PostgresError) in
                var changed: [String] = []
                for key in keys {
                    let rows = try transaction.query(KeyStepStatements.suspend, [.text(key.kid), .bool(isSuspended)])
                    guard !rows.isEmpty else { continue }
                    changed.append(key.kid)
                    let details = [("kid", key.kid), ("use", key.use.rawValue), ("state", key.state.rawValue)]
                    let kind: AuditKind = isSuspended ? .keySuspended : .keyResumed
                    _ = try transaction.query(AdministrativeAct.record, act.parameters([(kind, details)]))
                }
                return changed
            }
        } catch {
            throw AdministrationError(changing: error)
        }
    }
}

enum KeyStepStatements {
    /// no_data: rolls the transaction back.
    static let overtaken = PostgresError.server(SQLState("02000"), message: "", constraint: nil)

    static let now = Statement("SELECT now()")

    /// $1 kid, $2 old state, $3 new state.
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

    /// $1 kid, $2 whether it is suspended.
    static let suspend = Statement(
        """
        UPDATE native_sso.signing_key SET suspended_at = CASE WHEN $2 THEN now() END
        WHERE kid = $1 AND (suspended_at IS NULL) = $2 AND state IN ('pending', 'published', 'active')
        RETURNING 1
        """)
}
