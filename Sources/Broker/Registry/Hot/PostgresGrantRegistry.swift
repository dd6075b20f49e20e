package import NativeSSO
package import PostgresClient

/// Sessions, groups, devices and grants in PostgreSQL. Each call is one statement and returns after its commit.
package struct PostgresGrantRegistry: GrantRegistry {
    private let exchanges: any StatementExecutor
    private let refreshes: any StatementExecutor

    /// The statements of an exchange and of a refresh, for measurement.
    package static var exchanging: Statement { ExchangeStatement.statement }
    package static var refreshing: Statement { RefreshStatement.statement }

    package init(database: any StatementExecutor) { self.init(exchanges: database, refreshes: database) }

    /// The same database twice, for measurement.
    package init(exchanges: any StatementExecutor, refreshes: any StatementExecutor) {
        (self.exchanges, self.refreshes) = (exchanges, refreshes)
    }

    package func admit(_ admission: Admission) async throws(PortError) -> AdmissionFacts {
        try await exchanges.one(
            ExchangeStatement.statement, ExchangeStatement.parameters(admission),
            locking: ExchangeStatement.row(admission), of: "exchange", ExchangeStatement.facts)
    }

    package func rotate(_ rotation: Rotation) async throws(PortError) -> RotationFacts {
        try await refreshes.one(
            RefreshStatement.statement, RefreshStatement.parameters(rotation),
            locking: RefreshStatement.row(rotation), of: "refresh", RefreshStatement.facts)
    }

    package func markUnanswered(_ token: RefreshToken) async throws(PortError) {
        _ = try await refreshes.one(
            Self.mark, [.uuid(token.grantID), .int32(token.generation)],
            locking: RowKey(token.grantID.octets), of: "mark_unanswered"
        ) { try $0.bool(0) }
    }

    /// Asks for no exchange, as an exchange asks.
    package func exchangeNothing() async throws(PortError) {
        _ = try await exchanges.all(Self.noExchange, [], of: "exchange") { try $0.int64(0) }
    }

    /// Asks for no refresh, as a refresh asks.
    package func refreshNothing() async throws(PortError) {
        _ = try await refreshes.all(Self.noRefresh, [], of: "refresh") { try $0.int64(0) }
    }

    private static let noExchange = Statement("SELECT a.place FROM unnest(native_sso.exchange('{}')) AS a")
    private static let noRefresh = Statement("SELECT a.place FROM unnest(native_sso.refresh('{}')) AS a")

    /// $1 grant, $2 generation.
    static let mark = Statement("SELECT native_sso.mark_unanswered($1, $2)")
}

/// Used client assertions in PostgreSQL. Each has a row until it expires; the primary key decides a race.
package struct PostgresAssertionRegister: AssertionRegister {
    private let database: any StatementExecutor

    package init(database: any StatementExecutor) { self.database = database }

    package func use(_ assertion: AssertionID, until: UnixTime) async throws(PortError) -> Bool {
        try await database.one(
            Self.use, [.bytes(assertion.digest), try .instant(until)], locking: RowKey(assertion.digest),
            of: "use_client_assertion"
        ) { try $0.bool(0) }
    }

    /// $1 digest, $2 expiry.
    static let use = Statement("SELECT native_sso.use_client_assertion($1, $2)")
}
