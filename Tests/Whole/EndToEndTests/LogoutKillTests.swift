import BrokerTesting
import Glibc
import JOSE
import PrivateCluster
import StrictCoding
import BrokerHarness
import Testing

/// A broker that is killed in the middle of a logout. What it has done holds, and the same token does the rest.
@Suite(.timeLimit(.minutes(5))) struct LogoutKillTests {
    /// After which step it is killed: the next one cannot go on until then.
    enum Step: CaseIterable {
        case mark
        case firstBatch
        case lastBatch

        /// Holds up the step after this one, in a transaction that stays open.
        var gate: String {
            switch self {
            case .mark: "BEGIN; LOCK TABLE native_sso.session IN EXCLUSIVE MODE"
            // A session in the second batch, at whose end everybody waits.
            case .firstBatch: "BEGIN; SELECT count(*) FROM (SELECT pg_advisory_xact_lock(4711)) AS held"
            case .lastBatch: "BEGIN; LOCK TABLE native_sso.used_proof IN EXCLUSIVE MODE"
            }
        }

        /// How many of the user's 1,203 sessions are live after it.
        var live: String {
            switch self {
            case .mark: "1203"
            case .firstBatch: "1103"
            case .lastBatch: "0"
            }
        }
    }

    @Test(arguments: Step.allCases) func killed(after step: Step) async throws {
        let (installation, logins) = try await Installation.ofTwoApps()
        let broker = try installation.startBroker()
        let other = try installation.startBroker("other")
        for broker in [broker, other] { try await broker.untilReady() }
        let user = "user-\(Unguessable.make().prefix(8))"
        func login() -> Login {
            var login = logins.login()
            login.token.claims["sub"] = .string(user)
            return login
        }
        var families: [String] = []
        for _ in 1...3 {
            families.append(try #require(try await broker.token(try logins.exchange(login())).refreshToken))
        }
        let late = login()
        let (sql, gate) = (try installation.session(), try installation.session())
        try await sql.rows(
            """
            INSERT INTO native_sso.session (
                session_id, issuer, sid, idp_issuer, idp_sid, subject, created_at, expires_at, last_used_at)
            SELECT gen_random_uuid(), '\(logins.issuer)', sha256(('many-' || i)::bytea), '\(logins.issuer)',
                sha256(('many-' || i)::bytea), '\(user)', now(), now() + interval '1 day', now()
            FROM generate_series(1, 1200) i;
            CREATE FUNCTION wait_at_the_gate() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN PERFORM pg_advisory_xact_lock(4711); RETURN NULL; END $$;
            GRANT EXECUTE ON FUNCTION wait_at_the_gate() TO PUBLIC;
            DO $$ BEGIN EXECUTE format(
                'CREATE TRIGGER zz_gate AFTER UPDATE ON native_sso.session FOR EACH ROW WHEN (NEW.session_id = %L) '
                'EXECUTE FUNCTION wait_at_the_gate()',
                (SELECT session_id FROM native_sso.session WHERE subject = '\(user)' ORDER BY session_id OFFSET 150 LIMIT 1));
            END $$
            """)
        let live = "SELECT count(*) FROM native_sso.session WHERE subject = '\(user)' AND ended_at IS NULL"
        #expect(try await sql.row(live) == "1203")
        let token = logins.logoutEverywhere(late)

        try await gate.rows(step.gate)
        async let lost = try? broker.logout(token)
        let waiting = """
            pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query ~ '_logout|logged_out'
                AND pid <> pg_backend_pid()
            """
        _ = try await eventually("the broker waits at the gate", every: .milliseconds(2)) {
            try await sql.row("SELECT count(*) FROM \(waiting)") == "0" ? nil : true
        }
        broker.process.signal(SIGKILL)
        await broker.process.terminate()
        // As after the loss of a machine: the server does not finish the statements of closed connections.
        try await sql.rows("SELECT pg_terminate_backend(pid) FROM \(waiting)")
        _ = try await eventually("nobody waits any more") {
            try await sql.row("SELECT count(*) FROM \(waiting)") == "0" ? true : nil
        }
        try await gate.rows("ROLLBACK")
        let answer = await lost
        #expect(answer?.status == nil, "no answer before the last commit")

        #expect(try await sql.row(live) == step.live)
        // The mark holds at every broker: nothing comes in late.
        #expect(try await other.token(try logins.exchange(late)).error == "invalid_grant")
        #expect(try await other.logout(token).status == 200)
        #expect(try await sql.row(live) == "0")
        for family in families {
            #expect(try await other.token(logins.refresh(family)).error == "invalid_grant")
        }
        try broker.restart()
        try await broker.untilReady()
        #expect(try await broker.logout(token).status == 200, "it changes nothing more")
        for broker in [broker, other] { await broker.process.terminate() }
    }
}
