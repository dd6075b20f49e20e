import BrokerTesting
import RegistryConformance
import NativeSSO
import PostgresClient
import Registry
import Testing

@Suite("Enrolments in PostgreSQL", .serialized)
struct PostgresEnrolmentRegistryTests {
    private static let issuer = Issuer(validated: "https://idp.example.com")
    private static let client = ClientID(validated: "app-one")

    /// The parameters of an enrolment, for tests to change.
    private struct Asked {
        var token = "e30.one.c2ln"
        var device: UInt8 = 1
        var providerSessionID: SessionID? = SessionID(validated: "idp-1")
        var isPermitted = true
        var number: UInt64 = 1
        var issued: Seconds = 0
        var proof: PresentedProof?
        var hasKeyBinding = false
        var assertion: PresentedAssertion?

        func entry(at now: UnixTime) throws -> EnrolmentEntry {
            try .made(
                issuer: issuer, providerSessionID: providerSessionID, subject: Subject(validated: "user"),
                proofPolicy: hasKeyBinding ? .optional : .off, device: device, token: token,
                issuedAt: now.adding(issued),
                login: Login(authenticatedAt: now, contextClass: "loa", methods: ["pwd"]),
                lifetime: .days(7), isPermitted: isPermitted, proof: proof, assertion: assertion,
                requestID: UniqueID(high: 1, low: number),
                proposedRowID: UniqueID(high: 5, low: number))
        }
    }

    private func withWorld(
        _ body: @Sendable (PostgresFixture, @Sendable (Asked) async throws -> EnrolmentFacts) async throws -> Void
    ) async throws {
        try await TestDatabase.withFixture { database in
            try await database.put(client: Self.client, isEnabled: true)
            try await database.put(Self.member(.source))
            let registry = PostgresEnrolmentRegistry(database: database.service, atOnce: 16)
            let now = try await database.administration.now()
            try await body(database) { asked in try await registry.enrol(try asked.entry(at: now)) }
        }
    }

    private static func member(_ role: Membership.Role) -> MemberRow {
        MemberRow(
            issuer: issuer, client: client, membership: Membership(group: GroupID(validated: "vendor"), role: role))
    }

    @Test("An enrolment creates session, device and audit row once; a repetition returns it")
    func begins() async throws {
        try await withWorld { database, enrol in
            let before = try await database.counts()
            let first = try await enrol(Asked())
            #expect(first.session?.id == SessionID(of: UniqueID(high: 5, low: 1)))
            #expect(first.session?.expiresAt == first.now.adding(.days(7)))
            let after = try await database.counts()
            #expect(after.sessions == before.sessions + 1 && after.devices == before.devices + 1)
            #expect(after.auditRows == before.auditRows + 1 && after.grants == before.grants)
            var asked = Asked()
            asked.number = 2
            let again = try await enrol(asked)
            #expect(again.session == first.session && !again.tokenIsUsed)
            #expect(try await database.counts().sessions == after.sessions)
        }
    }

    @Test("Each guard alone prevents every write")
    func guards() async throws {
        try await withWorld { database, enrol in
            @Sendable func refused(_ change: (inout Asked) -> Void = { _ in }) async throws -> EnrolmentFacts {
                var asked = Asked()
                change(&asked)
                let before = try await database.digestOfState()
                let facts = try await enrol(asked)
                #expect(facts.session == nil)
                #expect(try await database.digestOfState() == before)
                return facts
            }
            _ = try await refused { $0.isPermitted = false }
            try await database.put(client: Self.client, isEnabled: false)
            #expect(try await !refused().clientIsEnabled)
            try await database.put(client: Self.client, isEnabled: true)
            try await database.put(Self.member(.target))
            #expect(try await refused().membership?.role == .target)
            try await database.removeMember(Self.client, at: Self.issuer)
            #expect(try await refused().membership == nil)
            try await database.put(Self.member(.both))
            let device = try #require(DeviceDigest(octets: Array(repeating: 1, count: 32)))
            try await database.put(DeviceRow(issuer: Self.issuer, digest: device, isBlocked: true))
            #expect(try await refused().deviceIsBlocked)
            try await database.put(DeviceRow(issuer: Self.issuer, digest: device, isBlocked: false))
            _ = try await enrol(Asked())
            #expect(try await refused { ($0.device, $0.number) = (2, 2) }.tokenIsUsed)
        }
    }

    @Test("A login that ended at the identity provider cannot enrol again")
    func ended() async throws {
        try await withWorld { database, enrol in
            _ = try await enrol(Asked())
            try await database.endSession(UniqueID(high: 5, low: 1))
            var asked = Asked()
            (asked.token, asked.number) = ("e30.two.c2ln", 2)
            let facts = try await enrol(asked)
            #expect(facts.loginHasEnded && facts.session == nil)
            #expect(try await enrol(Asked()).tokenIsUsed)
            // Another login of the same user.
            asked.providerSessionID = SessionID(validated: "idp-2")
            #expect(try await enrol(asked).session != nil)
            // Without a `sid`, the end of one session does not stop a new enrolment.
            asked.providerSessionID = nil
            for number in [3, 4] as [UInt64] {
                (asked.token, asked.number) = ("e30.\(number).c2ln", number)
                #expect(try await enrol(asked).session?.id == SessionID(of: UniqueID(high: 5, low: number)))
                try await database.endSession(UniqueID(high: 5, low: number))
            }
        }
    }

    @Test("Sixteen concurrent devices with one id_token get one session")
    func race() async throws {
        try await withWorld { database, enrol in
            let registry = PostgresEnrolmentRegistry(database: database.service, atOnce: 16)
            let now = try await database.administration.now()
            let before = try await database.counts().sessions
            let wins = try await atOnce(16) { index in
                var asked = Asked()
                (asked.number, asked.device) = (UInt64(index) + 1, UInt8(index) + 1)
                // Odd ones come without the `sid` that makes the others wait for each other.
                if asked.number % 2 == 1 { asked.providerSessionID = nil }
                let entry = try asked.entry(at: now)
                do throws(PortError) {
                    return try await registry.enrol(entry).session != nil
                } catch {
                    guard case .outage = error else { throw error }
                    return false
                }
            }
            #expect(wins.count { $0 } == 1)
            #expect(try await database.counts().sessions == before + 1)
        }
    }

    @Test("An enrolment from a broker whose clock is far behind is an outage")
    func clocksApart() async throws {
        try await withWorld { _, enrol in
            var asked = Asked()
            asked.issued = Seconds(-36 * 60)
            // The broker's refusal of an old token stays a refusal, not an outage.
            asked.isPermitted = false
            let refused = try await enrol(asked)
            #expect(refused.session == nil)
            asked.isPermitted = true
            let late = asked
            let error = await #expect(throws: PortError.self) { () async throws in _ = try await enrol(late) }
            #expect(error?.asOutage != nil)
        }
    }

    /// RFC 9449 §11.1: a refusal uses up the proof, too, but binds no key.
    @Test("A proof works once, and its key becomes the app's only one on the device")
    func keys() async throws {
        try await withWorld { database, enrol in
            let key = KeyThumbprint.random()
            var asked = Asked()
            (asked.hasKeyBinding, asked.proof, asked.isPermitted) = (true, .random(by: key), false)
            let before = try await database.counts()
            let refused = try await enrol(asked)
            #expect(refused.session == nil && !refused.proofWasUsed)
            let after = try await database.counts()
            #expect(after.usedProofs == before.usedProofs + 1 && after.devices == before.devices)
            asked.isPermitted = true
            let replayed = try await enrol(asked)
            #expect(replayed.session == nil && replayed.proofWasUsed)

            asked.proof = .random(by: key)
            let first = try await enrol(asked)
            #expect(first.session != nil && first.boundKey == nil)
            // The repetition and another login are refused, with another key or without a proof.
            for (token, number) in [("e30.one.c2ln", 1), ("e30.two.c2ln", 2)] as [(String, UInt64)] {
                for other in [nil, PresentedProof.random()] {
                    (asked.token, asked.number, asked.proof) = (token, number, other)
                    let facts = try await enrol(asked)
                    #expect(facts.session == nil && facts.boundKey == key)
                }
            }
            asked.proof = .random(by: key)
            #expect(try await enrol(asked).session?.id == SessionID(of: UniqueID(high: 5, low: 2)))
            // Key binding does not apply to a confidential client, or once the policy is off.
            (asked.token, asked.number, asked.hasKeyBinding, asked.proof) = ("e30.three.c2ln", 3, false, .random())
            let free = try await enrol(asked)
            #expect(free.session != nil && free.boundKey == nil)
        }
    }

    @Test("A repetition with the first key binds it")
    func repetitionPins() async throws {
        try await withWorld { _, enrol in
            var asked = Asked()
            asked.hasKeyBinding = true
            let unbound = try await enrol(asked)
            #expect(unbound.session != nil)
            let key = KeyThumbprint.random()
            asked.proof = .random(by: key)
            #expect(try await enrol(asked).session != nil)
            asked.proof = nil
            #expect(try await enrol(asked).boundKey == key)
        }
    }

    @Test("Of eight concurrent keys on a device, one is bound and its holder enrols")
    func pinRace() async throws {
        try await withWorld { database, _ in
            let registry = PostgresEnrolmentRegistry(database: database.service, atOnce: 16)
            let now = try await database.administration.now()
            let answers = try await atOnce(8) { index -> KeyThumbprint? in
                var asked = Asked()
                let (number, key) = (UInt64(index) + 1, KeyThumbprint.random())
                (asked.number, asked.token, asked.hasKeyBinding) = (number, "e30.\(number).c2ln", true)
                (asked.proof, asked.providerSessionID) = (.random(by: key), nil)
                return try await registry.enrol(try asked.entry(at: now)).session == nil ? nil : key
            }
            let winners = answers.compactMap(\.self)
            #expect(winners.count == 1)
            var asked = Asked()
            (asked.hasKeyBinding, asked.number, asked.token) = (true, 9, "e30.nine.c2ln")
            let entry = try asked.entry(at: now)
            #expect(try await registry.enrol(entry).boundKey == winners.first)
        }
    }

    /// RFC 7523 §3, 7. A call that throws uses up nothing, so the same request works later.
    @Test("A client assertion works for one enrolment")
    func assertions() async throws {
        try await withWorld { database, enrol in
            let now = try await database.administration.now()
            var asked = Asked()
            asked.assertion = PresentedAssertion(
                id: AssertionID(client: Self.client, jti: "one"), until: now.adding(60))
            asked.proof = .random()
            asked.issued = Seconds(-36 * 60)
            await #expect(throws: PortError.self) { _ = try await enrol(asked) }
            asked.issued = 0
            #expect(try await enrol(asked).session != nil)
            let before = try await database.counts()
            asked.proof = .random()
            let again = try await enrol(asked)
            #expect(again.session == nil && again.assertionWasUsed && !again.proofWasUsed)
            #expect(try await database.counts().usedProofs == before.usedProofs)
            // Nor for any other use.
            let register = PostgresAssertionRegister(database: database.service)
            let used = try #require(asked.assertion)
            #expect(try await !register.use(used.id, until: used.until))
        }
    }

    @Test("Waiting enrolments leave connections to others, and a full queue answers 503")
    func bounded() async throws {
        try await withWorld { database, _ in
            let registry = PostgresEnrolmentRegistry(database: database.service, atOnce: 1, waiting: 0)
            let now = try await database.administration.now()
            let entry = try Asked().entry(at: now)
            var asked = Asked()
            (asked.number, asked.token, asked.device) = (2, "e30.two.c2ln", 2)
            let other = try asked.entry(at: now)
            // The lock that a logout of the user takes.
            try await database.withOwnConnection { logout in
                _ = try await logout.query(Self.lock, [])
                async let first = registry.enrol(entry)
                while try await database.run(Self.waiting, [])[0].int64(0) == 0 { await Task.yield() }
                let error = await #expect(throws: PortError.self) { try await registry.enrol(other) }
                #expect(error?.asOutage?.detail == "too many enrolments at once")
                _ = try await database.service.query(Statement("SELECT 1"), [])
                _ = try await logout.query(Self.unlock, [])
                let facts = try await first
                #expect(facts.session != nil)
            }
            let late = try await registry.enrol(other)
            #expect(late.session != nil)
        }
    }

    private static let waiting = Statement(
        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
    private static let lock = Statement(
        "SELECT pg_advisory_lock(native_sso.logout_lock('sub', 'https://idp.example.com', 'user')) IS NULL")
    private static let unlock = Statement(
        "SELECT pg_advisory_unlock(native_sso.logout_lock('sub', 'https://idp.example.com', 'user'))")
}
