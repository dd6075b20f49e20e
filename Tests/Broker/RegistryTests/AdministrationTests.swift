import BrokerTesting
import NativeSSO
import PostgresClient
import PrivateCluster
import RegistryConformance
import Testing

@testable import Registry

@Suite("Administration", .serialized)
struct AdministrationTests {
    private let act = AdministrativeAct(actor: "ada (root)", reason: "ticket 12", requestID: UniqueID(high: 1, low: 2))

    private static func client(_ name: String, authentication: Client.Authentication = .none) -> Client {
        Client(
            id: ClientID(validated: name), authentication: authentication, allowedScope: Scope(["openid"]),
            defaultScope: Scope(["openid"]), audiences: ["https://api.example.com"])
    }

    private struct Step: Sendable {
        let kind: AuditKind
        let change: @Sendable (Administration, AdministrativeAct) async throws -> Void

        init(
            _ kind: AuditKind, _ change: @escaping @Sendable (Administration, AdministrativeAct) async throws -> Void
        ) {
            (self.kind, self.change) = (kind, change)
        }
    }

    @Test("The audit has every act by its kind, with who did it and why")
    func auditsActs() async throws {
        let (server, signer) = (ClientID(validated: "server"), ClientID(validated: "signer"))
        let (group, issuer) = (GroupID(validated: "another"), Issuer(validated: "https://idp.example.com"))
        let secret = ClientSecretDigest(of: "secret")
        let key = ClientKey(id: ClientKeyID(validated: "k1"), publicJWK: #"{"alg": "ES256", "kty": "EC"}"#)
        let registration = SessionRegistration(
            issuer: issuer, sessionID: SessionID(validated: "sid-1"), subject: Subject(validated: "user"),
            sourceClient: nil, login: Login(), lifetime: .days(1), providerSessionID: SessionID(validated: "idp-1"))
        try await TestDatabase.withWorld { [act] database, world in
            let steps: [Step] = [
                Step(.clientAdded) { try await $0.add(Self.client("server", authentication: .clientSecretBasic), $1) },
                Step(.clientUpdated) {
                    try await $0.update(Self.client("server", authentication: .clientSecretBasic), $1)
                },
                Step(.clientSecretAdded) { try await $0.addSecret(secret, to: server, $1) },
                Step(.clientSecretRetired) { try await $0.retireSecret(secret, of: server, $1) },
                Step(.groupAdded) { try await $0.addGroup(group, issuer: issuer, $1) },
                Step(.groupMemberSet) { try await $0.putMember(server, .both, in: group, $1) },
                Step(.groupMemberRemoved) { try await $0.removeMember(server, from: group, $1) },
                Step(.groupRemoved) { try await $0.removeGroup(group, $1) },
                Step(.clientAdded) { try await $0.add(Self.client("signer", authentication: .privateKeyJWT), $1) },
                Step(.clientKeyAdded) { try await $0.addKey(key, to: signer, $1) },
                Step(.clientKeyRemoved) { try await $0.removeKey(key.id, of: signer, $1) },
                Step(.clientRemoved) { try await $0.removeClient(signer, $1) },
                Step(.scopeSet) { try await $0.putScope("payments", requiresConsent: true, $1) },
                Step(.scopeRemoved) { try await $0.removeScope("payments", $1) },
                Step(.deviceBlocked) { try await $0.block(world.device, at: issuer, $1) },
                Step(.deviceUnblocked) { try await $0.unblock(world.device, at: issuer, $1) },
                Step(.idpSuspended) { try await $0.suspend(issuer, $1) },
                Step(.idpResumed) { try await $0.resume(issuer, $1) },
                Step(.retentionSet) { try await $0.setRetention(sessionDays: 100, auditDays: nil, $1) },
                Step(.sessionMapped) { _ = try await $0.register(registration, $1) },
                Step(.everythingEnded) { try await $0.endEverything(sameLoginMayReturn: true, $1) },
            ]
            for (index, step) in steps.enumerated() {
                let request = UniqueID(high: 9, low: UInt64(index))
                try await step.change(
                    database.administration,
                    AdministrativeAct(actor: act.actor, reason: act.reason, requestID: request))
                let records = try await database.administration.audit(ofRequest: request, limit: 9)
                #expect(records.map(\.kind) == [step.kind.rawValue])
                #expect(records.first?.actor == "ada (root)", "\(step.kind)")
                // Of a session it says why in the details.
                let words = records.map { "\($0.reason ?? "") \($0.details ?? "")" }
                #expect(words.first?.contains("ticket 12") == true, "\(step.kind): \(words)")
            }
        }
    }

    @Test("A selection of sessions may begin and end beyond every instant that PostgreSQL knows")
    func selectsFarInstants() async throws {
        try await TestDatabase.withFixture { database in
            let all = SessionSelection.issued(
                by: nil, between: (UnixTime(seconds: .min), UnixTime(seconds: .max)))
            let impact = try await database.administration.impact(
                ofEnding: all, beganUntil: UnixTime(seconds: .max))
            #expect(impact == SessionImpact(sessions: 0, users: 0, grants: 0))
        }
    }

    @Test("The audit records every setting of a client and what an update replaced")
    func auditsClients() async throws {
        try await TestDatabase.withFixture { database in
            try await database.administration.add(Self.client("app-one"), act)
            try await database.administration.update(
                Client(
                    id: ClientID(validated: "app-one"), allowedScope: Scope(["openid"]),
                    defaultScope: Scope(["openid"]), audiences: ["https://api.example.com"],
                    refreshTokenLifetime: .days(30), issuesIDToken: true, acceptedContextClasses: ["loa2"],
                    maximumAuthenticationAge: 600), act)
            let updated = try #require(try await database.run(Self.changes, []).last)
            for (column, value) in [
                "loa2", "", "2592000s", "none", "600s", "none", "true", "false", "openid", nil,
            ].enumerated() {
                #expect(try updated.optionalText(column) == value)
            }
        }
        let client = Self.client("app-one")
        #expect(Administration.details(client).count == Mirror(reflecting: client).children.count)
    }

    /// What was set and what it replaced, two by two.
    private static let changes = Statement(
        """
        SELECT details->>'accepted_acr', details->>'old_accepted_acr',
            details->>'refresh_token_lifetime', details->>'old_refresh_token_lifetime',
            details->>'maximum_authentication_age', details->>'old_maximum_authentication_age',
            details->>'issues_id_token', details->>'old_issues_id_token',
            details->>'allowed_scope', details->>'old_allowed_scope'
        FROM native_sso.audit_event ORDER BY occurred_at
        """)

    @Test("Refused changes leave the state and the audit unchanged")
    func refuses() async throws {
        try await TestDatabase.withFixture { database in
            try await database.administration.add(Self.client("app-one"), act)
            let before = try await database.digestOfState()
            let audited = try await database.counts().auditRows
            let (one, none) = (ClientID(validated: "app-one"), ClientID(validated: "app-none"))
            let beyond = Client(
                id: ClientID(validated: "app-two"), allowedScope: Scope(["openid"]), defaultScope: Scope(["orders"]),
                audiences: ["x"])
            let changes: [@Sendable () async throws -> Void] = [
                { [act] in try await database.administration.add(Self.client("app-one"), act) },
                { [act] in try await database.administration.update(Self.client("app-none"), act) },
                { [act] in try await database.administration.removeClient(none, act) },
                { [act] in try await database.administration.add(beyond, act) },
                { [act] in
                    try await database.administration.putMember(one, .both, in: GroupID(validated: "no-group"), act)
                },
            ]
            for change in changes { await #expect(throws: AdministrationError.self) { try await change() } }
            #expect(try await database.digestOfState() == before)
            #expect(try await database.counts().auditRows == audited)
        }
    }

    /// One may have to wait for the other, and is refused if it waits too long.
    @Test("Of many secrets added at once, at most two are accepted, and they go with their client")
    func secretsAtOnce() async throws {
        try await TestDatabase.withFixture { [act] database in
            let server = ClientID(validated: "server")
            try await database.administration.add(Self.client("server", authentication: .clientSecretBasic), act)
            let answers = try await atOnce(8) { number in
                do throws(AdministrationError) {
                    try await database.administration.addSecret(ClientSecretDigest(of: "\(number)"), to: server, act)
                    return true
                } catch {
                    return false
                }
            }
            let taken = answers.count { $0 }
            #expect((1...2).contains(taken))
            #expect(try await database.administration.secrets(of: server).count == taken)
            try await database.administration.removeClient(server, act)
            #expect(try await database.administration.secrets(of: server).isEmpty)
        }
    }

    @Test("A client belongs to at most one group per issuer")
    func oneGroupPerIssuer() async throws {
        try await TestDatabase.withFixture { database in
            let one = SharingGroup.Member(client: ClientID(validated: "app-one"), role: .both, scopeCeiling: nil)
            try await database.administration.add(Self.client("app-one"), act)
            for (group, issuer) in [("a", "https://idp"), ("b", "https://idp"), ("c", "https://other")] {
                try await database.administration.addGroup(
                    GroupID(validated: group), issuer: Issuer(validated: issuer), act)
            }
            try await database.administration.putMember(one.client, one.role, in: GroupID(validated: "a"), act)
            await #expect(throws: AdministrationError.self) {
                try await database.administration.putMember(
                    one.client, one.role, in: GroupID(validated: "b"), act)
            }
            try await database.administration.putMember(one.client, one.role, in: GroupID(validated: "c"), act)
            let groups = try await database.administration.groups()
            #expect(groups.map(\.members) == [[one], [], [one]])
        }
    }

    @Test("Revoking a locked grant waits for the lock")
    func revokesALockedGrant() async throws {
        try await TestDatabase.withFixture { database in
            let grants = try await Self.twoGrants(in: database)
            let (revoked, waiting) = try await database.holding { transaction throws(PostgresError) in
                _ = try transaction.query(Self.lockGrant, [.uuid(grants[0].octets)])
            } _: { [act] in
                try await database.administration.revoke(grants, act)
            }
            #expect(waiting?.contains("grant_revoked") == true && Set(revoked) == Set(grants))
            #expect(try await database.counts().liveGrants == 0)
        }
    }

    @Test("Revoking a grant that stays locked is an outage; other grants are revoked, and a repetition revokes it")
    func revokesAroundALockedGrant() async throws {
        try await TestDatabase.withFixture { database in
            let grants = try await Self.twoGrants(in: database)
            var configuration = try TestDatabase.configuration(
                database.cluster, database: database.name, user: PrivateCluster.superuser, connections: 1)
            configuration.lockTimeout = .milliseconds(50)
            let impatient = ConnectionPool(configuration)
            let failure = try await database.holding(untilItReturns: true) { transaction throws(PostgresError) in
                _ = try transaction.query(Self.lockGrant, [.uuid(grants[0].octets)])
            } _: { [act] () async -> AdministrationError? in
                do throws(AdministrationError) {
                    _ = try await Administration(pool: impatient).revoke(grants, act)
                    return nil
                } catch {
                    return error
                }
            }.value
            await impatient.shutdown()
            guard case .database(.server(let state, _, _)) = failure else {
                Issue.record("\(String(describing: failure))")
                return
            }
            #expect(state.isLockTimeout && state.isTransient)
            #expect(
                try await database.administration.audit(ofRequest: act.requestID, limit: 9).map(\.grant) == [grants[1]])
            #expect(try await database.counts().liveGrants == 1)
            #expect(try await database.administration.revoke(grants, act) == [grants[0]])
            #expect(try await database.counts().liveGrants == 0)
        }
    }

    /// The ids of two live grants.
    private static func twoGrants(in database: PostgresFixture) async throws -> [UniqueID] {
        let world = try await World.make(in: database)
        let other = try await database.registry.admit(world.firstAdmission(sid: "other"))
        return [world.grantID, try #require(other.grant).id]
    }

    private static let lockGrant = Statement("SELECT FROM native_sso.sso_grant WHERE grant_id = $1 FOR UPDATE")

    @Test("The statement that adds a key returns its state, so nothing can fail later")
    func keyIsAddedByOneStatement() async throws {
        try await TestDatabase.withFixture { database in
            let pool = try await database.poolThatAddsKeysOnly()
            let key = KeyRecord(
                kid: "r1", use: .refreshToken, algorithm: .hs256, reference: "refresh-token-1.key", publicJWK: nil,
                state: .pending, createdAt: UnixTime(seconds: 0))
            let administration = Administration(pool: pool)
            await #expect(throws: AdministrationError.self) { try await administration.keys() }  // it may not list
            let state = try? await administration.addKey(key, act)
            #expect(state == .active)
            await pool.shutdown()
        }
    }

    @Test("Key steps apply all or none, and only from the states that were read")
    func keySteps() async throws {
        try await TestDatabase.withFixture { database in
            for kid in ["r1", "r2"] {
                _ = try await database.administration.addKey(
                    KeyRecord(
                        kid: kid, use: .refreshToken, algorithm: .hs256, reference: kid, publicJWK: nil,
                        state: .pending, createdAt: UnixTime(seconds: 0)), act)
            }
            let steps = [
                KeyTransition(kid: "r1", from: .active, to: .retired),
                KeyTransition(kid: "r2", from: .published, to: .active),
            ]
            let audited = try await database.counts().auditRows
            await #expect(throws: AdministrationError.self) {
                try await database.administration.move(
                    steps + [KeyTransition(kid: "r1", from: .active, to: .removed)], isForced: false, act)
            }
            #expect(try await database.administration.keys().records.map(\.state) == [.active, .published])
            #expect(try await database.counts().auditRows == audited)
            try await database.administration.move(steps, isForced: false, act)
            #expect(try await database.administration.keys().records.map(\.state) == [.retired, .active])
            #expect(try await database.counts().auditRows == audited + 2)
        }
    }
}
