import BrokerTesting
import Glibc
import NativeSSO
import PostgresClient
import RegistryConformance
import Testing

@testable import Registry

/// Logins whose id_token had no `sid` or no `auth_time`.
@Suite(.timeLimit(.minutes(2))) struct LogoutWithoutSIDTests {
    private static let issuer = Issuer(validated: "https://idp.example.com")
    private static let user = Subject(validated: "user")

    /// The database runs on this machine.
    private static var now: UnixTime { UnixTime(seconds: Int64(time(nil))) }

    private static func sid(_ text: String) -> SessionID { SessionID(validated: text) }

    /// Enrols a login of `app-one`.
    private static func enrol(
        _ database: PostgresFixture, sid: String, named idpSID: String? = nil, of user: String = "user",
        authenticatedAt: UnixTime? = nil, issuedAt: UnixTime? = nil
    ) async throws -> EnrolmentFacts {
        let now = Self.now
        return try await PostgresEnrolmentRegistry(database: database.service).enrol(
            .made(
                issuer: issuer, providerSessionID: idpSID.map(Self.sid), subject: Subject(validated: user), device: 9,
                token: "e30.\(sid).c2ln", issuedAt: issuedAt ?? now, login: Login(authenticatedAt: authenticatedAt),
                lifetime: .days(1), requestID: UniqueID(high: 1, low: 1), proposedRowID: SessionNames.row(sid)))
    }

    private static let reaches: [(LogoutReach, [String])] = [
        (.session, ["no-sid", "other", "stranger"]), (.withoutSID, ["other", "stranger"]), (.user, ["stranger"]),
    ]

    /// A logout with `sid` and `sub`, after an enrolment whose id_token had no `sid`.
    @Test(arguments: reaches)
    func bySessionAndUser(_ reach: LogoutReach, _ left: [String]) async throws {
        try await TestDatabase.withWorld { database, world in
            _ = try await database.registry.admit(world.firstAdmission(sid: "other"))
            #expect(try await Self.enrol(database, sid: "no-sid").session != nil)
            #expect(try await Self.enrol(database, sid: "stranger", of: "another").session != nil)
            let logout = LogoutSubject(Self.sid("sid-1"), of: Self.user, reach: reach)
            let ended = try await database.logOut(logout, "one")
            #expect(ended == Int64(4 - left.count))
            #expect(try await database.liveSIDs() == left)
        }
    }

    /// A login from before the logout is refused afterwards. A newer login, or one with another `sid`, lives.
    @Test func anEnrolmentAfterItsLogout() async throws {
        try await TestDatabase.withWorld { database, world in
            let now = Self.now
            let logout = LogoutSubject.sessionAndWithoutSID(Self.sid("sid-1"), of: Self.user)
            #expect(try await database.logOut(logout, "one", issuedAt: now) == 1)
            let before = try await Self.enrol(database, sid: "before", authenticatedAt: now)
            #expect(before.loginHasEnded && before.session == nil)
            let undated = try await Self.enrol(database, sid: "undated", issuedAt: now)
            #expect(undated.loginHasEnded && undated.session == nil)
            let after = try await Self.enrol(
                database, sid: "after", authenticatedAt: now.adding(1), issuedAt: now.adding(1))
            #expect(after.session != nil)
            let named = try await database.registry.admit(
                world.firstAdmission(sid: "other", login: Login(authenticatedAt: now.adding(-10))))
            #expect(named.grant != nil)
            #expect(try await database.liveSIDs() == ["after", "other"])
            // A logout of the whole user reaches further. A later logout of one session takes nothing of it back.
            _ = try await database.logOut(.user(Self.user), "two", issuedAt: now.adding(1))
            _ = try await database.logOut(logout, "three", issuedAt: now)
            #expect(try await database.liveSIDs().isEmpty)
            let late = try await database.registry.admit(
                world.firstAdmission(sid: "late", login: Login(authenticatedAt: now.adding(1))))
            #expect(late.grant == nil)
        }
    }

    /// A login without `auth_time` counts as begun when its id_token was issued.
    @Test(arguments: [(-1, false), (0, false), (1, true)] as [(Int64, Bool)])
    func withoutAuthenticationTime(_ issued: Int64, _ lives: Bool) async throws {
        try await TestDatabase.withWorld { database, world in
            let now = Self.now
            _ = try await database.logOut(.user(Self.user), "one", issuedAt: now)
            let issuedAt = now.adding(Seconds(issued))
            let facts = try await database.registry.admit(world.firstAdmission(sid: "late", tokenIssuedAt: issuedAt))
            #expect((facts.grant != nil) == lives)
            for name in [nil, "named"] {
                let enrolled = try await Self.enrol(
                    database, sid: "enrolled-\(name ?? "")", named: name, issuedAt: issuedAt)
                #expect((enrolled.session != nil) == lives)
            }
        }
    }

    /// An enrolment under the same `sid` arrives between the first step of a logout and the end of the live session.
    @Test func theMarkBesideALiveSession() async throws {
        try await TestDatabase.withWorld { database, _ in
            let record = LogoutRecord.told(.session(Self.sid("sid-1")), "one")
            let before = try await database.counts().sessions
            _ = try await database.service.query(
                LogoutStatements.begin,
                [
                    .bytes(record.digest), .text(Self.issuer.string), .optionalBytes(record.sidDigest),
                    .optionalText(record.user?.string), try .instant(record.issuedAt),
                    .uuid(record.proposedSessionRowID), .bool(false), .text(record.cause.rawValue),
                ])
            #expect(try await database.liveSIDs() == ["sid-1"])
            let facts = try await Self.enrol(database, sid: "meanwhile", named: "sid-1")
            #expect(facts.loginHasEnded && facts.session == nil)
            #expect(try await database.logouts.end(record) == 1)
            #expect(try await database.liveSIDs().isEmpty)
            // The mark goes: the ended session replaces it.
            #expect(try await database.counts().sessions == before)
            #expect(try await Self.enrol(database, sid: "later", named: "sid-1").session == nil)
        }
    }

    /// A session from a first sight learns the IdP's `sid` once. A logout by either name ends it.
    @Test(arguments: ["sid-1", "idp-1"]) func aNameThatIsToldLater(_ name: String) async throws {
        try await TestDatabase.withWorld { database, _ async throws in
            #expect(try await Self.register(database, named: nil) == "known")
            #expect(try await Self.register(database, named: "sid-1") == "known")
            #expect(try await Self.register(database, named: "idp-1") == "mapped")
            #expect(try await Self.register(database, named: "idp-1") == "known")
            #expect(try await Self.register(database, named: nil) == "known")
            #expect(try await Self.register(database, named: "idp-2") == "mapped_otherwise")
            #expect(
                try await Self.register(database, named: "idp-1", by: "https://other.example.com") == "mapped_otherwise"
            )
            #expect(try await database.liveSIDs() == ["sid-1"])
            #expect(try await database.logOut(.session(Self.sid(name)), "one") == 1)
            #expect(try await Self.register(database, named: "idp-1") == "ended")
        }
    }

    /// The logout by the IdP's `sid` came first.
    @Test func aNameThatIsOver() async throws {
        try await TestDatabase.withWorld { database, _ async throws in
            #expect(try await database.logOut(.session(Self.sid("idp-1")), "one") == 0)
            #expect(try await database.liveSIDs() == ["sid-1"])
            #expect(try await Self.register(database, named: "idp-1") == "ended")
            #expect(try await database.liveSIDs().isEmpty)
        }
    }

    /// After logouts by both names of a session, a first sight under the IdP's `sid` is refused.
    @Test func aFirstSightUnderANameThatIsOver() async throws {
        try await TestDatabase.withWorld { database, world async throws in
            #expect(try await Self.register(database, named: "idp-1") == "mapped")
            #expect(try await database.logOut(.session(Self.sid("sid-1")), "one") == 1)
            #expect(try await database.logOut(.session(Self.sid("idp-1")), "two") == 0)
            #expect(try await database.registry.admit(world.firstAdmission(sid: "idp-1")).grant == nil)
            #expect(try await database.liveSIDs().isEmpty)
            #expect(try await database.registry.admit(world.firstAdmission(sid: "idp-2")).grant != nil)
        }
    }

    private static func register(
        _ database: PostgresFixture, named name: String?, by provider: String? = nil
    ) async throws -> String {
        try await database.run(
            registration,
            [.text(issuer.string), .text("sid-1"), .text("user"), .optionalText(provider), .optionalText(name)])[0]
            .text(0)
    }

    private static let registration = Statement(
        """
        SELECT outcome FROM native_sso.register_session(
            $1, sha256($2::text::bytea), $3, p_idp_issuer => $4, p_idp_sid => sha256($5::text::bytea))
        """)
}
