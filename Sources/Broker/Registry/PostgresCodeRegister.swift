package import NativeSSO
package import PostgresClient

/// Relayed codes in PostgreSQL.
///
/// Uses the pool, not the lanes, and a concurrency limit. A flood of codes therefore leaves connections for other
/// calls and delays no exchange or refresh.
package struct PostgresCodeRegister: CodeRegister {
    private let database: any StatementExecutor
    private let claims: Semaphore
    /// Separate from the claims and unlimited in queue length: a flood of claims must not lose tokens that an IdP has
    /// issued. The codes in flight bound its length.
    private let settlements: Semaphore

    /// - Parameters:
    ///   - claims: Maximum concurrent claims.
    ///   - settlements: Maximum concurrent calls for granted claims; each code makes three.
    ///   - waiting: Maximum waiting claims. Further claims get an outage and must retry.
    package init(database: any StatementExecutor, claims: Int = 1, settlements: Int = 2, waiting: Int = 64) {
        self.database = database
        self.claims = Semaphore(width: claims, queue: waiting)
        self.settlements = Semaphore(width: settlements, queue: .max)
    }

    package func claim(_ entry: CodeEntry) async throws(PortError) -> CodeClaim {
        let (claim, isRepeated) = try await one(
            claims, CodeStatements.claim,
            [
                .bytes(entry.code.octets), .bytes(entry.binding.octets), .uuid(entry.requestID),
                .optionalBytes(entry.proof?.id.digest), .optionalInt64(entry.proof?.life.count),
            ], CodeStatements.claim)
        // The proof may be used by the first attempt, whose outcome is unknown.
        guard !isRepeated || claim != .proofUsed else {
            throw .outage(Outage(.database, "the outcome of a claim is not known"))
        }
        return claim
    }

    package func send(_ code: CodeName, of request: UniqueID, patience: Seconds) async throws(PortError) -> Bool {
        try await one(
            settlements, CodeStatements.send, [.bytes(code.octets), .uuid(request), .int64(patience.count)]
        ) { try $0.bool(0) }.value
    }

    package func settle(
        _ code: CodeName, of request: UniqueID, as settlement: CodeSettlement
    ) async throws(PortError) -> Bool {
        let (state, answer): (String, [UInt8]?) =
            switch settlement {
            case .released: ("released", nil)
            case .lost: ("lost", nil)
            case .kept(let answer): ("kept", answer)
            case .answered(let answer): ("answered", answer)
            }
        return try await one(
            settlements, CodeStatements.settle,
            [.bytes(code.octets), .uuid(request), .text(state), .optionalBytes(answer)]
        ) { try $0.bool(0) }.value
    }

    package func finish(_ code: CodeName, _ binding: CodeBinding, answer: [UInt8]) async throws(PortError) -> [UInt8]? {
        try await one(
            settlements, CodeStatements.finish, [.bytes(code.octets), .bytes(binding.octets), .bytes(answer)]
        ) { try $0.optionalBytes(0) }.value
    }

    package func forget(_ code: CodeName, _ binding: CodeBinding) async throws(PortError) -> Bool {
        try await one(settlements, CodeStatements.forget, [.bytes(code.octets), .bytes(binding.octets)]) {
            try $0.bool(0)
        }.value
    }

    private func one<Value: Sendable>(
        _ semaphore: Semaphore, _ statement: Statement, _ parameters: [PostgresValue], _ decode: (Row) throws -> Value
    ) async throws(PortError) -> (value: Value, isRepeated: Bool) {
        let (rows, isRepeated) = try await semaphore.run("codes") { () async throws(PortError) in
            try await PortError.database { () async throws(PostgresError) in try await query(statement, parameters) }
        }
        return (try rows.only(of: "a code", decode), isRepeated)
    }

    /// Repeats the statement once if the outcome is unknown. The statements are idempotent.
    private func query(
        _ statement: Statement, _ parameters: [PostgresValue]
    ) async throws(PostgresError) -> (rows: [Row], isRepeated: Bool) {
        do throws(PostgresError) {
            return (try await database.query(statement, parameters), false)
        } catch {
            guard case .outcomeUnknown = error else { throw error }
            return (try await database.query(statement, parameters), true)
        }
    }
}

/// The SQL functions for relayed codes.
enum CodeStatements {
    static let claim = Statement("SELECT standing, answer FROM native_sso.reserve_code($1, $2, $3, $4, $5)")
    static let send = Statement("SELECT native_sso.send_code($1, $2, $3)")
    static let settle = Statement("SELECT native_sso.settle_code($1, $2, $3, $4)")
    static let finish = Statement("SELECT native_sso.finish_code($1, $2, $3)")
    static let forget = Statement("SELECT native_sso.forget_code($1, $2)")

    static func claim(_ row: Row) throws -> CodeClaim {
        switch (try row.text(0), try row.optionalBytes(1)) {
        case ("granted", nil): .granted
        case ("in_flight", nil): .inFlight
        case ("kept", let answer?): .kept(answer)
        case ("used", nil): .used
        case ("proof_used", nil): .proofUsed
        default: throw CorruptRow(column: "standing")
        }
    }
}
