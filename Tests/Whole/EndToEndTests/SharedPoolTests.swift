import PrivateCluster
import StrictCoding
import BrokerHarness
import Testing

extension Faults {
    /// All users of one share of the pool hang on locks: the rest of the pool stays free, and exchanges and refreshes
    /// have their own connections.
    struct SharedPoolTests {
        @Test func enrolmentsCodesAndLogoutsHang() async throws {
            let fixture = try await FaultFixture.shared
            let sql = try fixture.installation.session()
            let broker = try fixture.installation.startBroker("small-pool") { configuration in
                configuration.pool = 3
                configuration.providers[0].codeRelay = "{ timeout: 2s }"
            }
            try await broker.untilReady()
            let held = fixture.logins.login()
            let locks = try await Locks(on: held, at: fixture)
            try await ending {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for request in try hanging(held, fixture) {
                        group.addTask {
                            while !Task.isCancelled {
                                let answer = try await request().send(to: broker)
                                guard !Task.isCancelled else { return }
                                #expect(answer.json?.string("error") == "temporarily_unavailable", "\(answer.text)")
                            }
                        }
                    }
                    do {
                        try await eachHangs(locks, sql) { try await goesOn(broker, fixture, locks, sql) }
                    } catch {
                        // The group waits for its calls, which may hang as long as the locks are held.
                        group.cancelAll()
                        try await locks.release()
                        throw error
                    }
                    group.cancelAll()
                    try await locks.release()
                    try await group.waitForAll()
                }
            } with: {
                await broker.process.terminate()
            }
        }

        /// Until each kind was seen to hang, one at a time.
        private func eachHangs(
            _ locks: Locks, _ sql: SQLSession, while goesOn: () async throws -> Void
        ) async throws {
            var seen: Set<Substring> = []
            var before: Set<Substring> = []
            _ = try await eventually("each of them hangs") {
                let waiting = try await sql.rows(locks.waiting).map { $0.split(separator: "|") }
                // A call that was given up may still be seen while the next one begins, but not for long.
                let backends = Set(waiting.map { $0[0] })
                #expect(backends.intersection(before).count <= 1, "\(waiting) hang at one time")
                before = backends
                seen.formUnion(waiting.map { $0[1] })
                try await goesOn()
                return seen == ["enrol", "reserve_code", "begin_logout"] ? true : nil
            }
        }

        /// One of each kind, over and over: as many as there are connections, if nothing were left to the others.
        private func hanging(
            _ login: Login, _ fixture: FaultFixture
        ) throws -> [@Sendable () throws -> HangingRequest] {
            [
                {
                    var token = login.token
                    token.claims["jti"] = .string(Unguessable.make())
                    return .token(
                        .enrolment(
                            try token.signed(), issuer: fixture.logins.issuer, device: login.device, profile: .deviceID,
                            client: "app-one"))
                },
                { .token(.code(device: login.device, profile: .deviceID, client: "app-one")) },
                { .logout(fixture.logins.logoutEverywhere(login)) },
            ]
        }

        /// Exchange and refresh, readiness, and the audit.
        private func goesOn(
            _ broker: Broker, _ fixture: FaultFixture, _ locks: Locks, _ sql: SQLSession
        ) async throws {
            let login = try await locks.loginBeside(at: fixture, sql)
            let exchanged = try await broker.settledToken(try fixture.logins.exchange(login))
            let refreshToken = try #require(exchanged.refreshToken, "\(exchanged.text)")
            #expect(try await broker.settledToken(fixture.logins.refresh(refreshToken)).status == 200)
            try await broker.untilReady()
            var refused = try fixture.logins.exchange(login)
            refused["actor_token"] = Unguessable.make()
            let answer = try await broker.settledToken(refused)
            #expect(try await sql.auditedReason(of: answer.requestID) == "device_hash_mismatch")
        }
    }
}

private enum HangingRequest {
    case token(TokenForm)
    case logout(LogoutToken)

    func send(to broker: Broker) async throws -> HTTPAnswer {
        switch self {
        case .token(let form): try await broker.token(form)
        case .logout(let token): try await broker.logout(token)
        }
    }
}

/// Held against enrolments and logouts of one user, and against all codes.
private struct Locks {
    private let holder: SQLSession
    private let heldLock: String
    /// What waits, a row each: its backend, and the function that it called.
    let waiting: String

    init(on login: Login, at fixture: FaultFixture) async throws {
        holder = try fixture.installation.session()
        let subject = try #require(login.token.claims.string("sub"))
        heldLock = "native_sso.logout_lock('sub', '\(fixture.logins.issuer)', '\(subject)')"
        for statement in [
            "BEGIN", "LOCK TABLE native_sso.relayed_code IN ACCESS EXCLUSIVE MODE",
            "SELECT pg_advisory_xact_lock(\(heldLock))",
        ] { try await holder.rows(statement) }
        waiting = """
            SELECT pid, name FROM pg_stat_activity,
                substring(query FROM 'native_sso\\.(enrol|reserve_code|begin_logout)\\(') AS name
            WHERE usename = '\(fixture.installation.serviceRole)' AND wait_event_type = 'Lock' AND state = 'active'
                AND name IS NOT NULL
            """
    }

    /// A login that does not share the held lock: users share 256 of them.
    func loginBeside(at fixture: FaultFixture, _ sql: SQLSession) async throws -> Login {
        while true {
            let login = fixture.logins.login()
            let subject = try #require(login.token.claims.string("sub"))
            let lock = "native_sso.logout_lock('sub', '\(fixture.logins.issuer)', '\(subject)')"
            if try await sql.rows("SELECT \(lock) <> \(heldLock)") == ["t"] { return login }
        }
    }

    func release() async throws { try await holder.rows("ROLLBACK") }
}
