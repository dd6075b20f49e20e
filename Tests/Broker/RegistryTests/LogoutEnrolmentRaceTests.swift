import BrokerTesting
import Glibc
import NativeSSO
import PostgresClient
import Testing

@testable import Registry

/// One replica enrols a login while the IdP sends its logout to another replica.
@Suite("A logout and enrolments of the same login", .serialized, .timeLimit(.minutes(5)))
struct LogoutEnrolmentRaceTests {
    private static let issuer = Issuer(validated: "https://idp.example.com")
    private static let rounds = 60

    /// In either order: an earlier enrolment ends, and a later one is refused.
    @Test(
        "After all calls, no session or grant of the login is live",
        arguments: [LogoutReach.session, .withoutSID, .user],
        [true, false])
    func nothingIsLeft(_ reach: LogoutReach, _ isNamed: Bool) async throws {
        // A logout of one session does not concern a login without a `sid`.
        guard isNamed || reach != .session else { return }
        try await TestDatabase.withWorld { database, _ in
            let other = try ConnectionPool(
                TestDatabase.configuration(
                    database.cluster, database: database.name, user: TestDatabase.serviceRole, connections: 4))
            let replicas: [any StatementExecutor] = [database.service, other]
            for round in 0..<Self.rounds {
                let user = Subject(validated: "user \(round)")
                let name = SessionID(validated: "login \(round)")
                let now = UnixTime(seconds: Int64(time(nil)))
                let logout = LogoutRecord.told(
                    LogoutSubject(name, of: user, reach: reach), "logout \(round)", issuedAt: now)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    // The logout takes each place in turn, so that every order is tried.
                    for place in 0..<5 {
                        guard place != round % 5 else {
                            let logouts = PostgresLogoutRegistry(database: replicas[round % 2])
                            group.addTask { _ = try await logouts.end(logout) }
                            continue
                        }
                        let registry = PostgresEnrolmentRegistry(database: replicas[(round + place) % 2])
                        let entry = try Self.entry(
                            user, named: isNamed ? name : nil, round: round, number: place, at: now)
                        group.addTask {
                            let facts = try await registry.enrol(entry)
                            #expect((facts.session == nil) == facts.loginHasEnded)
                        }
                    }
                    try await group.waitForAll()
                }
                let live = try await database.run(Self.live, [.text(user.string)])
                #expect(live.isEmpty, "round \(round): \(live.count) are live")
                let late = try await PostgresEnrolmentRegistry(database: database.service).enrol(
                    Self.entry(user, named: isNamed ? name : nil, round: round, number: 5, at: now))
                #expect(late.loginHasEnded && late.session == nil)
            }
            await other.shutdown()
        }
    }

    private static func entry(
        _ user: Subject, named name: SessionID?, round: Int, number: Int, at now: UnixTime
    ) throws -> EnrolmentEntry {
        try .made(
            issuer: issuer, providerSessionID: name, subject: user, device: UInt8(number),
            token: "e30.r\(round)n\(number).c2ln", issuedAt: now, login: Login(authenticatedAt: now),
            lifetime: .days(1), requestID: .random(),
            proposedRowID: .random())
    }

    private static let live = Statement(
        "SELECT FROM native_sso.session WHERE subject = $1 AND ended_at IS NULL")
}
