import BrokerHarness
import ChildProcesses
import Foundation
import Glibc
import PrivateCluster
import StrictCoding
import Testing

/// Ends in a file outside the database, and what becomes of them when the database goes back.
@Suite("audit.journal and native-sso restore-check", .timeLimit(.minutes(10)))
struct RestoreCheckTests {
    private static func events(_ journal: String) throws -> [JSONObject] {
        try String(contentsOfFile: journal, encoding: .utf8).split(separator: "\n").map {
            try #require(try JSONReader.parse(Array($0.utf8)).object)
        }
    }

    /// A service that keeps a journal, and lets apps revoke.
    private func settings(_ installation: Installation, _ journal: String, backchannel: UInt16) -> [String: String] {
        installation.serviceEnvironment.merging([
            "NATIVE_SSO_AUDIT_JOURNAL": journal, "NATIVE_SSO_BACKCHANNEL_LISTEN": "127.0.0.1:\(backchannel)",
            "NATIVE_SSO_BACKCHANNEL_REVOKE": "true",
        ]) { $1 }
    }

    private func revoke(_ token: String, at port: UInt16) async throws -> HTTPAnswer {
        try await HTTPRequest.token([("client_id", "app2"), ("token", token)], to: "/revoke").send(to: port)
    }

    private func refreshToken(_ answer: HTTPAnswer) throws -> String {
        try #require(answer.json?.string("refresh_token"), "\(answer.text)")
    }

    @Test func `a database behind the journal is not served until its lost ends are repeated`() async throws {
        try await Installation.withSchema { installation in
            try await installation.registerApps()
            let journal = installation.file("journal")
            let backchannel = try LoopbackPort.free()
            let settings = settings(installation, journal, backchannel: backchannel)
            func execute(_ arguments: String...) async throws {
                let outcome = try await installation.run(
                    arguments + ["--execute", "--reason", "test"], environment: ["NATIVE_SSO_AUDIT_JOURNAL": journal])
                #expect(outcome.status == 0, "\(outcome.errors)")
            }
            let names = ["logged-out", "revoked", "stolen", "operator", "blocked", "kept"]
            let logins = try Dictionary(
                uniqueKeysWithValues: names.map { ($0, try Login(installation, sid: $0, sub: $0)) })
            var tokens: [String: [String]] = [:]

            var broker = try await Broker.start(installation, environment: settings)
            try await broker.waitUntilReady()
            for (name, login) in logins {
                tokens[name] = [try refreshToken(try await broker.post(login.exchange(by: "app2")))]
            }
            try await broker.stop()
            // What a restore to this moment makes.
            let restored = "\(installation.database)_restored"
            try await installation.cluster.createDatabase(restored, template: installation.database)

            broker = try await Broker.start(installation, environment: settings)
            try await broker.waitUntilReady()
            for _ in 0..<3 {
                let last = try #require(tokens["stolen"]?.last)
                tokens["stolen"]?.append(try refreshToken(try await broker.post(Login.refresh(last, by: "app2"))))
            }
            let spent = try #require(tokens["stolen"]?.first)
            #expect(try await broker.post(Login.refresh(spent, by: "app2")).json?.string("error") == "invalid_grant")
            let logout = try LogoutToken(
                issuer: Installation.identityProvider, audience: "app1", subject: nil, sid: "logged-out",
                key: installation.identityProviderKey)
            #expect(try await HTTPRequest.logout(try logout.signed()).send(to: broker.internalPort).status == 200)
            #expect(try await revoke(try #require(tokens["revoked"]?.last), at: backchannel).status == 200)
            try await execute("session", "end", "--sid", "operator")
            let device = try await installation.object("session", "show", "--sid", "blocked").object("session")?
                .string("device")
            try await execute("device", "block", try #require(device), "--issuer", Installation.identityProvider)
            let kinds = try Self.events(journal).map { $0.string("kind") }
            #expect(
                kinds == ["grant_revoked", "logout_recorded", "grant_revoked", "session_ended", "device_blocked"])
            // The same database: nothing is missing.
            try await broker.stop()
            broker = try await Broker.start(installation, environment: settings)
            try await broker.waitUntilReady()
            try await broker.stop()

            let address = installation.cluster.connectionURI(database: restored)
            let owner = ["NATIVE_SSO_DATABASE_URL": address]
            let service = settings.merging([
                "NATIVE_SSO_DATABASE_URL": installation.cluster.connectionURI(
                    database: restored, user: Installation.loginRole)
            ]) { $1 }
            let refused = try await Broker.startAnyway(installation, environment: service)
            #expect(await refused.process.exitStatus == 1)
            #expect(refused.process.errors.contains("restore-check \(journal)"), "\(refused.process.errors)")

            func check(_ more: String...) async throws -> String {
                let outcome = try await installation.run(["restore-check", journal] + more, environment: owner)
                #expect(outcome.status == 0, "\(outcome.errors)")
                return outcome.output
            }
            let plan = try await check()
            #expect(plan.hasPrefix("would repeat 5 lost ends and blocks\n  the database lacks 5 events"), "\(plan)")
            let still = try await Broker.startAnyway(installation, environment: service)
            #expect(await still.process.exitStatus == 1, "\(still.process.errors)")
            #expect(try await check("--execute", "--reason", "restored").hasPrefix("done: repeat 5 lost"))
            #expect(try await check().hasPrefix("would repeat 0 lost ends and blocks\n"))

            let again = try await Broker.start(installation, environment: service)
            try await again.waitUntilReady()
            for (name, of) in logins {
                let token = try #require(name == "stolen" ? tokens[name]?.last : tokens[name]?.first)
                let answer = try await again.post(Login.refresh(token, by: "app2"))
                #expect((answer.status == 200) == (name == "kept"), "\(name): \(answer.text)")
                // An app whose grant alone was revoked may exchange again, but not after a reuse.
                let exchange = try await again.post(of.exchange(by: "app2"))
                let mayExchange = ["kept", "revoked"].contains(name)
                #expect((exchange.status == 200) == mayExchange, "\(name): \(exchange.text)")
            }
            try await again.stop()
            try await installation.cluster.dropDatabase(restored)
        }
    }

    @Test func `an end that the journal does not take is not acknowledged, and is in it after a repetition`()
        async throws
    {
        try await Installation.withSchema { installation in
            try await installation.registerApps()
            let journal = installation.file("journal")
            let backchannel = try LoopbackPort.free()
            let settings = settings(installation, journal, backchannel: backchannel)
            let broker = try await Broker.start(installation, environment: settings)
            try await broker.waitUntilReady()
            let exchanged = try await broker.post(try Login(installation, sid: "sid-1").exchange(by: "app2"))
            let token = try refreshToken(exchanged)
            // The disk fails.
            unlink(journal)
            try #require(mkdir(journal, 0o700) == 0)
            #expect(try await revoke(token, at: backchannel).status == 503)
            #expect(try await broker.process.errorLine(containing: "journal: ") != nil)
            try #require(rmdir(journal) == 0)
            #expect(try await revoke(token, at: backchannel).status == 200)
            // The line that waited, and that of the repeated request.
            #expect(try Self.events(journal).map { $0.string("kind") } == ["grant_revoked", "grant_revoked"])
            // A torn line of a full disk is closed before the next one.
            let file = try FileHandle(appendingTo: journal)
            try file.write(contentsOf: Data("{\"torn".utf8))
            try file.close()
            let second = try await broker.post(try Login(installation, sid: "sid-2").exchange(by: "app2"))
            #expect(try await revoke(try refreshToken(second), at: backchannel).status == 200)
            let lines = try String(contentsOfFile: journal, encoding: .utf8).split(separator: "\n")
            #expect(lines.count == 4 && lines[2] == "{\"torn")
            try await broker.stop()

            let torn = try await installation.run(["restore-check", journal])
            #expect(torn.status == 2 && torn.errors.contains("\(journal):3: no whole event"), "\(torn.errors)")
            let unwritable = try await installation.run(
                ["serve"], environment: settings.merging(["NATIVE_SSO_AUDIT_JOURNAL": "/nowhere/journal"]) { $1 })
            #expect(unwritable.status == 3 && unwritable.errors.contains("audit.journal: cannot open /nowhere/journal"))
        }
    }

    /// The broker that ended it first may be gone, with its journal.
    @Test func `an end that is asked for again is in the journal of the broker that answers, too`() async throws {
        try await Installation.withSchema { installation in
            try await installation.registerApps()
            let logins = try ["logged-out", "revoked", "signed-out"].map {
                try Login(installation, sid: $0, sub: $0)
            }
            let logout = try LogoutToken(
                issuer: Installation.identityProvider, audience: "app1", subject: nil, sid: "logged-out",
                key: installation.identityProviderKey
            ).signed()
            var token: String?
            for name in ["first", "second"] {
                let journal = installation.file(name)
                let backchannel = try LoopbackPort.free()
                let settings = settings(installation, journal, backchannel: backchannel)
                let broker = try await Broker.start(installation, environment: settings)
                try await broker.waitUntilReady()
                if token == nil {
                    for login in logins {
                        let answer = try await broker.post(login.exchange(by: "app2"))
                        if login.idToken == logins[1].idToken { token = try refreshToken(answer) }
                    }
                }
                #expect(try await HTTPRequest.logout(logout).send(to: broker.internalPort).status == 200)
                #expect(try await revoke(try #require(token), at: backchannel).status == 200)
                let signOut = HTTPRequest.token(
                    [("client_id", "app2"), ("token", logins[2].deviceSecret), ("token_type_hint", "device_secret")],
                    to: "/revoke")
                #expect(try await signOut.send(to: backchannel).status == 200)
                let events = try Self.events(journal)
                #expect(
                    events.map { $0.string("kind") } == ["logout_recorded", "grant_revoked", "session_ended"], "\(name)"
                )
                try await broker.stop()
                // The audit knows the last line, so a broker starts with it.
                let again = try await Broker.start(installation, environment: settings)
                try await again.waitUntilReady()
                try await again.stop()
                let check = try await installation.run(["restore-check", journal])
                #expect(check.output.hasPrefix("would record that the database has every event"), "\(check.output)")
            }
            #expect(try await installation.audit().count { $0.hasPrefix("end_repeated") } == 3)
        }
    }

    /// A late token is no proof, so the app may begin another grant. The successor of the late one is the proof.
    @Test func `a reuse that proves itself late is repeated with the grant that began since`() async throws {
        try await Installation.withSchema { installation in
            try await installation.registerApps()
            let journal = installation.file("journal")
            let settings = settings(installation, journal, backchannel: try LoopbackPort.free())
            let restored = "\(installation.database)_restored"
            func reused(in database: String) async throws -> String {
                try await installation.cluster.psql(
                    "SELECT count(*) FROM native_sso.sso_grant WHERE revoke_reason = 'refresh_token_reused'",
                    database: database)
            }
            var broker = try await Broker.start(installation, environment: settings)
            try await broker.waitUntilReady()
            let login = try Login(installation, sid: "sid")
            let first = try refreshToken(try await broker.post(login.exchange(by: "app2")))
            let second = try refreshToken(try await broker.post(Login.refresh(first, by: "app2")))
            try await installation.cluster.psql(
                "UPDATE native_sso.sso_grant SET rotated_at = rotated_at - interval '1 day'",
                database: installation.database)
            #expect(try await broker.post(Login.refresh(first, by: "app2")).status == 400, "late")
            _ = try refreshToken(try await broker.post(login.exchange(by: "app2")))
            try await broker.stop()
            try await installation.cluster.createDatabase(restored, template: installation.database)

            broker = try await Broker.start(installation, environment: settings)
            try await broker.waitUntilReady()
            #expect(try await broker.post(Login.refresh(second, by: "app2")).status == 400, "the proof")
            try await broker.stop()
            let before = [try await reused(in: installation.database), try await reused(in: restored)]
            #expect(before == ["2\n", "0\n"])
            let owner = ["NATIVE_SSO_DATABASE_URL": installation.cluster.connectionURI(database: restored)]
            let done = try await installation.run(
                ["restore-check", journal, "--execute", "--reason", "restored"], environment: owner)
            #expect(done.output.hasPrefix("done: repeat 1 lost end or block\n"), "\(done.output)\(done.errors)")
            #expect(try await reused(in: restored) == "2\n")
            let again = try await installation.run(["restore-check", journal], environment: owner)
            #expect(again.output.hasPrefix("would repeat 0 lost ends and blocks\n"), "\(again.output)")
            try await installation.cluster.dropDatabase(restored)
        }
    }

    @Test func `a revoked key of an identity provider is revoked again, and a key that no broker fetched yet is named`()
        async throws
    {
        try await Installation.withSchema { installation in
            let (known, unknown) = (String(repeating: "a", count: 43), String(repeating: "c", count: 43))
            let issuer = Installation.identityProvider
            _ = try await installation.cluster.psql(
                """
                INSERT INTO native_sso.idp_key (
                    issuer, thumbprint, kid, algorithm, public_jwk, first_seen_at, last_seen_at, tag)
                VALUES ('\(issuer)', '\(known)', 'k', 'ES256', '{}', now(), now(), repeat('b', 43))
                """, database: installation.database)
            let lines = [known, unknown].map {
                """
                {"kind":"idp_key_revoked","occurred_at":"2026-01-01T00:00:00Z","details":\
                {"issuer":"\(issuer)","thumbprint":"\($0)"}}

                """
            }
            try installation.write(lines.joined(), to: "kept")
            func check(_ more: String...) async throws -> String {
                let outcome = try await installation.run(["restore-check", installation.file("kept")] + more)
                #expect(outcome.status == 0, "\(outcome.errors)")
                return outcome.output
            }
            let plan = try await check()
            for line in [
                "would repeat 1 lost end or block", "revoke the key \(known) of \(issuer)",
                "the key \(unknown) of \(issuer) is not in this database",
            ] { #expect(plan.contains(line), "\(plan)") }
            #expect(!plan.contains("began in the lost time"), "\(plan)")
            _ = try await check("--execute", "--reason", "restored")
            let revoked = try await installation.cluster.psql(
                "SELECT thumbprint FROM native_sso.idp_key WHERE revoked_at IS NOT NULL",
                database: installation.database)
            #expect(revoked == "\(known)\n")
            #expect(try await check().hasPrefix("would repeat 0 lost ends and blocks\n"))
        }
    }

    @Test func `what is no kept event stops restore-check before it changes anything`() async throws {
        try await Installation.withSchema { installation in
            let good = """
                {"kind":"device_blocked","occurred_at":"2026-01-01T00:00:00Z","details":\
                {"issuer":"\(Installation.identityProvider)","device":"\(String(repeating: "ab", count: 32))"}}
                """
            for (text, words) in [
                (String(good.dropLast(9)), "no whole event"), ("{\"keys\":[]}", "no event of the audit"),
                ("[]", "no whole event"),
                (good.replacing("\"device\":", with: "\"x\":"), "has no usable details.device"),
                (good.replacing("device_blocked", with: "session_ended"), "has no usable session_id"),
                ("{\"events\":[1],\"next\":null}", "no event of the audit"),
            ] {
                try installation.write("\(good)\n\(text)\n", to: "kept")
                let outcome = try await installation.run(
                    ["restore-check", installation.file("kept"), "--execute", "--reason", "x"])
                #expect(outcome.status == 2, "\(text): \(outcome.output)")
                #expect(outcome.errors.contains("kept:2: ") && outcome.errors.contains(words), "\(outcome.errors)")
            }
            #expect(try await installation.run(["restore-check", installation.file("missing")]).status == 2)
            #expect(try await installation.audit().allSatisfy { !$0.hasPrefix("device_blocked") })
            // A listing, a block of an unknown device, an end of an unknown session, and a change to look at.
            try installation.write(
                """
                {"events":[\(good),{"kind":"client_updated","occurred_at":"2026-01-01T00:00:00Z"},\
                {"kind":"session_ended","occurred_at":"2026-01-01T00:00:00Z",\
                "session_id":"00000000-0000-7000-8000-000000000001"}],"next":"1.1.1.1"}
                """, to: "kept")
            let outcome = try await installation.run(
                ["restore-check", installation.file("kept"), "--execute", "--reason", "x"])
            #expect(outcome.status == 0 && outcome.errors.contains("is not the last page"), "\(outcome.errors)")
            for line in [
                "done: repeat 1 lost end or block", "the database lacks 3 events",
                "1 not in this database", "not repeated, look at them: 1 client_updated",
            ] {
                #expect(outcome.output.contains(line), "\(outcome.output)")
            }
            let audit = try await installation.audit()
            #expect(
                audit.contains { $0.hasPrefix("device_blocked") } && audit.contains { $0.hasPrefix("restore_checked") })
        }
    }
}

extension Broker {
    /// One that may refuse to start.
    fileprivate static func startAnyway(_ installation: Installation, environment: [String: String]) async throws
        -> Broker
    {
        try installation.startBroker("refused-\(UInt32.random(in: 0...UInt32.max))", environment: environment)
    }
}
