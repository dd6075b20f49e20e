import BrokerHarness
import BrokerTesting
import PrivateCluster
import Testing

extension ReplicationFaults {
    struct UnavailabilityTests {
        /// The primary is frozen, and the standby is no help: what it has may be old. Then it runs on.
        @Test func aPrimaryThatHangs() async throws {
            let fixture = try await ReplicationFaults.fixture
            let (broker, logins) = (try await fixture.startBroker(), fixture.logins())
            let family = try await logins.family(at: broker)
            let primary = await fixture.pair.primary
            try await primary.suspend()
            let began = ContinuousClock.now
            let answers = try await atOnce(8) { try await broker.token(logins.refresh(family.refreshToken)) }
            #expect(ContinuousClock.now - began < ReplicationFaults.deadline)
            #expect(answers.allSatisfy { $0.isOutage }, "\(answers.map(\.status))")
            #expect(try await broker.readiness() == 503)
            try await primary.resume()
            try await broker.untilReady()
            let retry = try await broker.token(logins.refresh(family.refreshToken))
            #expect(retry.status == 200, "\(retry.text)")
            #expect(try await fixture.state(of: family.login) == "2|f")
            await broker.process.terminate()
        }

        /// Commits wait for a missing standby: neither an app nor the operator is told of a success that might be lost.
        /// When the standby returns, every caller gets its result, once.
        @Test func aStandbyThatIsGone() async throws {
            let fixture = try await ReplicationFaults.fixture
            let (broker, logins) = (try await fixture.startBroker(), fixture.logins())
            let family = try await logins.family(at: broker)
            let other = try await logins.family(at: broker)
            let standby = await fixture.pair.standby
            try await standby.kill9()
            let command = Task { (status: try await fixture.end(other.login), at: ContinuousClock.now) }
            for _ in 1...2 {
                let began = ContinuousClock.now
                let answers = try await atOnce(8) { try await broker.token(logins.refresh(family.refreshToken)) }
                #expect(ContinuousClock.now - began < ReplicationFaults.deadline)
                #expect(answers.allSatisfy { $0.isOutage }, "\(answers.map(\.status))")
            }
            let exchange = try await broker.token(try logins.exchange(logins.login()))
            #expect(exchange.isOutage, "\(exchange.status) \(exchange.text)")
            // None of it can be seen by anybody.
            #expect(try await fixture.state(of: family.login) == "1|f")
            // Reads are answered all the same, so that only a commit tells. However often it is asked, one probe waits.
            _ = try await eventually("the missing standby in /readyz") {
                let answer = try await HTTPRequest("GET", "/readyz").send(to: broker.internalPort)
                return answer.status == 503 && answer.text.contains("standby_missing") ? true : nil
            }
            for _ in 1...5 { #expect(try await broker.readiness() == 503) }
            #expect(["0", "1"].contains(try await fixture.rows(Self.probes)))

            let returned = ContinuousClock.now
            try await standby.restart()
            try await broker.untilReady()
            let retry = try await eventually("a success") {
                let answer = try await broker.token(logins.refresh(family.refreshToken))
                return answer.isOutage ? nil : answer
            }
            let successor = try #require(retry.refreshToken, "\(retry.text)")
            #expect(try await fixture.state(of: family.login) == "2|f")
            let again = try await broker.token(logins.refresh(family.refreshToken))
            #expect(again.refreshToken == successor)
            #expect(try await broker.token(logins.refresh(successor)).status == 200)
            let ended = try await command.value
            #expect(ended.status == 0 && ended.at > returned)
            #expect(try await broker.token(logins.refresh(other.refreshToken)).outcome == .refused)
            await broker.process.terminate()
        }

        /// A read-only server, and one whose commits may be lost: the broker reports both before an app meets them, and
        /// recovers with the server.
        @Test(arguments: [
            ("default_transaction_read_only = on", "read_only"), ("synchronous_commit = off", "synchronous_commit_off"),
        ])
        func aServerThatKeepsNothing(setting: String, problem: String) async throws {
            let fixture = try await ReplicationFaults.fixture
            let (broker, logins) = (try await fixture.startBroker(), fixture.logins())
            let family = try await logins.family(at: broker)
            try await fixture.rows("ALTER SYSTEM SET \(setting)")
            try await fixture.rows("SELECT pg_reload_conf()")
            _ = try await eventually("\(problem) in /readyz") {
                let answer = try await HTTPRequest("GET", "/readyz").send(to: broker.internalPort)
                return answer.status == 503 && answer.text.contains(problem) ? true : nil
            }
            if problem == "read_only" { #expect(try await broker.token(logins.refresh(family.refreshToken)).isOutage) }
            try await fixture.rows("ALTER SYSTEM RESET \(setting.prefix { $0 != " " })")
            try await fixture.rows("SELECT pg_reload_conf()")
            try await broker.untilReady()
            #expect(try await broker.token(logins.refresh(family.refreshToken)).status == 200)
            await broker.process.terminate()
        }

        private static let probes =
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query LIKE '%commit probe%'"

        /// The service may have fewer connections than it wants: it answers what it can. It may have none: an outage.
        @Test func aRoleWithoutConnections() async throws {
            let fixture = try await ReplicationFaults.fixture
            let (broker, logins) = (try await fixture.startBroker(), fixture.logins())
            let family = try await logins.family(at: broker)
            let role = fixture.installation.serviceRole
            func limit(_ count: Int) async throws {
                try await fixture.rows(
                    """
                    ALTER ROLE \(role) CONNECTION LIMIT \(count);
                    SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '\(role)';
                    """)
            }
            try await limit(2)
            let answers = try await atOnce(8) { try await broker.token(logins.refresh(family.refreshToken)) }
            #expect(answers.allSatisfy { $0.status == 200 || $0.isOutage }, "\(answers.map(\.status))")

            try await limit(0)
            let connections = "SELECT count(*) FROM pg_stat_activity WHERE usename = '\(role)'"
            _ = try await eventually("the end of all connections") {
                try await fixture.rows(connections) == "0" ? true : nil
            }
            let began = ContinuousClock.now
            #expect(try await broker.token(logins.refresh(family.refreshToken)).isOutage)
            #expect(ContinuousClock.now - began < ReplicationFaults.deadline)
            #expect(try await broker.readiness() == 503)

            try await limit(-1)
            try await broker.untilReady()
            #expect(try await broker.token(logins.refresh(family.refreshToken)).status == 200)
            #expect(try await fixture.state(of: family.login) == "2|f")
            await broker.process.terminate()
        }
    }
}
