import PrivateCluster
import BrokerHarness
import Testing

/// One fault at a time, on a replicated database that all of these tests use in turn; each leaves it whole, and has a
/// broker of its own.
@Suite(.serialized, .timeLimit(.minutes(3))) struct ReplicationFaults {
    private static let starting = Task { try await ReplicatedFixture() }
    static var fixture: ReplicatedFixture { get async throws { try await starting.value } }

    /// Deadline of a call and the wait for a connection, and what a busy machine adds.
    static let deadline = Duration.seconds(4)
}

extension ReplicatedFixture {
    /// `generation|revoked` of the only family of a login, where the database is now.
    func state(of login: Login) async throws -> String {
        try await rows(
            """
            SELECT generation, revoked_at IS NOT NULL FROM native_sso.sso_grant
            WHERE session_id = (SELECT session_id FROM native_sso.session WHERE sid = sha256('\(login.sid)'));
            """)
    }

    /// What a statement gives on the server that takes the writes, without the last line's end.
    @discardableResult
    func rows(_ sql: String) async throws -> String {
        String(try await pair.primary.psql(sql, database: installation.database).dropLast())
    }

    /// Ends a session as an operator does; the exit status.
    func end(_ login: Login) async throws -> Int32 {
        try await installation.run([
            "session", "end", "--issuer", logins().issuer, "--sid", login.sid, "--reason", "test", "--execute",
        ]).status
    }
}

extension Broker {
    /// Waits until it has logged this.
    func untilLogged(_ text: String) async throws {
        _ = try await eventually("\(text) in the log") { try logText().contains(text) ? true : nil }
    }
}
