public import NativeSSO
public import PostgresClient

/// Relayed codes in PostgreSQL.
///
/// Over the pool, not over the lanes, and through a gate: however many codes come, connections are left for everything else,
/// and no exchange or refresh waits with them.
public struct PostgresCodeRegister: CodeRegister {
    private let database: any StatementExecutor
    private let claims: Turnstile
    /// Apart from the claims, and never turned away: what an identity provider gave must not be lost because others come. There
    /// are no more of these than there are codes in flight.
    private let settlements: Turnstile

    /// - Parameters:
    ///   - atOnce: Claims at one time, and as many calls of those whose claim was granted.
    ///   - waiting: How many more claims may wait; whoever comes then is told to come again.
    public init(database: any StatementExecutor, atOnce: Int = 1, waiting: Int = 64) {
        self.database = database
        claims = Turnstile(width: atOnce, queue: waiting)
        settlements = Turnstile(width: atOnce, queue: .max)
    }

    public func claim(_ entry: CodeEntry) async throws(PortError) -> CodeClaim {
        try await one(claims, CodeStatements.claim, CodeStatements.parameters(entry), CodeStatements.claim)
    }

    public func settle(
        _ code: CodeName, of request: UniqueID, as settlement: CodeSettlement
    ) async throws(PortError) -> Bool {
        try await one(settlements, CodeStatements.settle, CodeStatements.parameters(code, request, settlement)) {
            try $0.bool(0)
        }
    }

    public func finish(
        _ code: CodeName, _ binding: CodeBinding, answer: [UInt8]
    ) async throws(PortError) -> [UInt8]? {
        try await one(
            settlements, CodeStatements.finish, [.bytes(code.octets), .bytes(binding.octets), .bytes(answer)]
        ) { try $0.optionalBytes(0) }
    }

    private func one<Value: Sendable>(
        _ turnstile: Turnstile, _ statement: Statement, _ parameters: [PostgresValue], _ decode: (Row) throws -> Value
    ) async throws(PortError) -> Value {
        guard await turnstile.enter() else { throw .outage(Outage(.database, "too many codes at once")) }
        defer { turnstile.leave() }
        let rows = try await PortError.database { () async throws(PostgresError) in
            try await database.query(statement, parameters)
        }
        guard rows.count == 1 else { throw .broken("\(rows.count) rows from a statement on a code") }
        do {
            return try decode(rows[0])
        } catch {
            throw .broken("a row of a code maps to nothing: \(error)")
        }
    }
}
