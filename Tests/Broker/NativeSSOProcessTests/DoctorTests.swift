import BrokerHarness
import BrokerTesting
import Foundation
import Glibc
import JOSE
import PrivateCluster
import StrictCoding
import Testing

@Suite("native-sso doctor finds each fault", .timeLimit(.minutes(10)))
struct DoctorTests {
    struct Outcome {
        let status: Int32
        let findings: [JSONObject]
        let errors: String

        init(_ outcome: ManagedProcess.Outcome) throws {
            status = outcome.status
            errors = outcome.errors
            let json = try JSONReader.parse(
                Array(outcome.output.utf8), limits: JSONLimits(members: 8192, elements: 8192)
            ).object
            findings = try #require(json?.array("findings"), "\(outcome.errors)").compactMap(\.object)
        }

        func state(_ check: String) -> String? {
            let states = findings.filter { $0.string("check") == check }.compactMap { $0.string("state") }
            return states.first { $0 != "ok" } ?? states.first
        }

        func seen(_ check: String) -> String {
            findings.filter { $0.string("check") == check }.compactMap { $0.string("seen") }.joined(separator: "\n")
        }

        func expect(
            _ check: String, _ state: String, _ words: String = "", sourceLocation: SourceLocation = #_sourceLocation
        ) {
            #expect(
                self.state(check) == state && (words.isEmpty || seen(check).contains(words)),
                "\(check): \(seen(check))",
                sourceLocation: sourceLocation)
        }

        /// Each finding that is not fine says what to do, and no other.
        func expectRemedies() {
            for finding in findings {
                #expect((finding.string("state") == "ok") == (finding["remedy"] == .null), "\(finding)")
            }
        }
    }

    /// The ports of other programs on this machine do not matter, unless a test says so.
    private static let ports = [
        "NATIVE_SSO_PUBLIC_LISTEN": "127.0.0.1:0", "NATIVE_SSO_INTERNAL_LISTEN": "127.0.0.1:0",
    ]

    func doctor(
        _ installation: Installation, _ environment: [String: String] = [:], config: String? = nil,
        shell: [String] = []
    ) async throws -> Outcome {
        let environment = Self.ports.merging(installation.serviceEnvironment) { $1 }.merging(environment) { $1 }
        let file = config ?? installation.file("administration.yaml")
        let command = [try BuildProducts.path(of: "native-sso"), "--json", "--config", file, "doctor"]
        let all = shell + command
        return try Outcome(
            await ManagedProcess.run(
                all[0], Array(all.dropFirst()), environment: environment,
                log: installation.directory.appending(path: "\(Unguessable.make().prefix(12)).log")))
    }

    /// A configuration of the service with other providers.
    private func write(_ installation: Installation, providers: String) throws -> String {
        let name = "doctor-\(Unguessable.make().prefix(8)).yaml"
        try installation.write(
            """
            issuer: \(Installation.issuer)
            development: true
            database:
              url: "\(installation.cluster.connectionURI(database: installation.database))"
              password_file: \(installation.file("database-password"))
            keys: { directory: \(installation.file("keys")) }
            identity_providers:
            \(providers)

            """, to: name)
        return installation.file(name)
    }

    // MARK: A sound installation, and this machine

    @Test func `a broker may have the ports, and a mistake in the file hides nothing else`() async throws {
        try await Installation.withSchema { installation in
            // Beside a running broker the ports are taken, and rightly so.
            let broker = try await installation.startBroker("broker").ready()
            let beside = try await doctor(
                installation,
                [
                    "NATIVE_SSO_PUBLIC_LISTEN": "127.0.0.1:\(broker.publicPort)",
                    "NATIVE_SSO_INTERNAL_LISTEN": "127.0.0.1:\(broker.internalPort)",
                ])
            #expect(beside.seen("listener.public").hasSuffix("a broker serves here"))
            try await broker.stop()

            // A mistake in the file is found, and the database is examined all the same.
            let mistaken = try await doctor(installation, ["NATIVE_SSO_TOKENS_ACCESS": "5"])
            mistaken.expectRemedies()
            #expect(mistaken.state("configuration") == "failed" && mistaken.status == 3)
            #expect(mistaken.seen("configuration").contains("NATIVE_SSO_TOKENS_ACCESS: tokens.access"))
            #expect(mistaken.state("database.connection") == "ok" && mistaken.state("keys.usable") == "ok")
        }
    }

    @Test func `a port that another program has, few files and no locked memory are found`() async throws {
        try await Installation.withSchema { installation in
            let other = try StubIdentityProvider(keys: [try TestKey.shared(.es256)])
            let files = try await doctor(
                installation, ["NATIVE_SSO_PUBLIC_LISTEN": "127.0.0.1:\(other.port)"],
                shell: ["/bin/sh", "-c", "ulimit -n 1000; exec \"$@\"", "sh"])
            files.expect("process.files", "warning", "1000 files")
            #expect(files.state("listener.public") == "failed" && files.state("listener.internal") == "ok")
            #expect(files.seen("listener.public").contains("Address already in use"))
            // Root may lock memory, unless it has lost the right.
            let right = geteuid() == 0 ? ["/usr/bin/setpriv", "--bounding-set", "-ipc_lock"] : []
            let memory = try await doctor(
                installation, ["NATIVE_SSO_DEVELOPMENT": "false"],
                shell: right + ["/bin/sh", "-c", "ulimit -l 0; exec \"$@\"", "sh"])
            memory.expect("process.memory", "warning")
            #expect(memory.state("process.user") == (geteuid() == 0 ? "warning" : "ok"))
        }
    }

    // MARK: Database

    @Test func `a role that may do too much, lost commits, and sweeps that do not come`() async throws {
        try await Installation.withSchema { installation in
            let owner = ["NATIVE_SSO_DATABASE_URL": installation.ownerEnvironment["NATIVE_SSO_DATABASE_URL"] ?? ""]
            let superuser = try await doctor(installation, owner)
            superuser.expect("database.role", "failed", "is a superuser")
            #expect(try await doctor(installation, installation.ownerEnvironment).state("database.role") == "warning")

            let role = "wide_\(Unguessable.make().lowercased().filter(\.isLetter).prefix(10))"
            let cluster = installation.cluster
            try await cluster.makeLogin(
                role: role, "CREATEDB CONNECTION LIMIT 5 IN ROLE native_sso_broker, native_sso_support")
            try await cluster.psql(
                "ALTER ROLE \(role) IN DATABASE \(installation.database) SET synchronous_commit = off")
            try await cluster.psql(
                """
                UPDATE native_sso.schema_migration SET applied_at = applied_at - interval '2 days';
                DO $$ BEGIN
                    EXECUTE 'DROP TABLE native_sso.audit_event_p'
                        || to_char(date_trunc('month', now() AT TIME ZONE 'UTC') + interval '1 month', 'YYYY_MM');
                END $$
                """, database: installation.database)
            let found = try await doctor(
                installation,
                ["NATIVE_SSO_DATABASE_URL": cluster.connectionURI(database: installation.database, user: role)])
            found.expectRemedies()
            for (check, state, seen) in [
                ("database.role", "warning", "\(role) may make databases, is a member of native_sso_support"),
                ("database.connections", "warning", "the role may have 5"),
                ("database.commits", "failed", "synchronous_commit is off"),
                ("retention.sweep", "warning", "no broker has swept yet"), ("retention.audit", "warning", "1 of this"),
            ] {
                #expect(found.state(check) == state && found.seen(check).hasPrefix(seen), "\(found.seen(check))")
            }
        }
    }

    @Test func `a schema that is not as the migrations make it, and one that is missing`() async throws {
        try await Installation.withSchema { installation in
            func psql(_ statement: String) async throws {
                try await installation.cluster.psql(statement, database: installation.database)
            }
            let sound = try await doctor(installation, installation.ownerEnvironment)
            #expect(sound.state("schema.drift") == "ok" && sound.seen("schema.drift") == "as the migrations make it")
            try await psql("DROP INDEX native_sso.session_device")
            let owner = try await doctor(installation, installation.ownerEnvironment)
            owner.expectRemedies()
            #expect(owner.state("schema.drift") == "failed" && owner.seen("schema.drift") == "index session_device")
            #expect(try await doctor(installation).state("schema.drift") == "ok", "the service cannot know it")
            try await psql(
                """
                ALTER TABLE native_sso.sso_grant DISABLE TRIGGER guard_grant;
                GRANT UPDATE ON native_sso.session TO native_sso_broker;
                INSERT INTO native_sso.schema_migration VALUES (DEFAULT, 999, 'x', sha256('x'), now(), 'x')
                """)
            let service = try await doctor(installation)
            service.expect("schema.drift", "failed")
            #expect(
                service.seen("schema.drift")
                    == "this user may write to session, trigger guard_grant of sso_grant is off")
            service.expect("schema.migrations", "warning")
        }
        try await Installation.withFiles { installation in
            let found = try await doctor(installation, installation.ownerEnvironment)
            found.expect("schema.migrations", "failed", "native-sso migrate up")
            #expect(found.state("keys.usable") == nil)
        }
    }

    // MARK: Keys

    @Test func `keys that are open to others, missing, or due`() async throws {
        try await Installation.withSchema { installation in
            _ = try await installation.cluster.psql(
                """
                UPDATE native_sso.signing_key SET created_at = created_at - interval '90 days',
                    published_at = published_at - interval '90 days', activated_at = activated_at - interval '90 days'
                """, database: installation.database)
            let due = try await doctor(installation)
            due.expectRemedies()
            due.expect("keys.rotation", "warning")
            #expect(due.seen("keys.rotation").contains("ES256 for access-token"))

            let keys = installation.file("keys")
            let file = try #require(
                FileManager.default.contentsOfDirectory(atPath: keys).first { $0.hasSuffix(".pem") })
            try FileManager.default.removeItem(atPath: "\(keys)/\(file)")
            let missing = try await doctor(installation)
            missing.expect("keys.usable", "failed", "does not exist")
            #expect(missing.seen("keys.usable").contains("no usable active key for use access-token"))

            try #require(chmod(keys, 0o755) == 0)
            let open = try await doctor(installation)
            open.expect("keys.store", "failed", "chmod go=")
        }
    }

    // MARK: Identity providers

    @Test func `an identity provider that is away, and whose answers do not fit`() async throws {
        try await Installation.withSchema { installation in
            let provider = try StubIdentityProvider(keys: [try TestKey.shared(.es256)])
            let file = try write(
                installation,
                providers: """
                      - issuer: \(provider.issuer)
                        profiles: [device-secret]
                        algorithms: [RS256]
                    """)
            func says(_ members: String) {
                provider.discovery(
                    .says(
                        Array(
                            #"{"issuer":"\#(provider.issuer)","jwks_uri":"\#(provider.issuer)/jwks",\#(members)}"#.utf8)
                    ))
            }
            says(#""id_token_signing_alg_values_supported":["ES256"],"claims_supported":["sub"]"#)
            let found = try await doctor(installation, config: file)
            found.expectRemedies()
            found.expect("identity_provider.reachable", "ok")
            found.expect("identity_provider.algorithms", "failed")
            found.expect("identity_provider.keys", "failed", "none of them for RS256")
            found.expect("identity_provider.claims", "warning", "its id_tokens lack sid, ds_hash")
            found.expect("configuration", "warning", "none of them begins sessions")

            says(#""id_token_signing_alg_values_supported":["RS256","ES256"],"claims_supported":["sid","ds_hash"]"#)
            let more = try await doctor(installation, ["NATIVE_SSO_SESSIONS_IDLE": "1m"], config: file)
            more.expect("configuration", "warning", "tokens.access: is longer than sessions.idle, 1m")
            more.expect("identity_provider.algorithms", "warning")
            more.expect("identity_provider.claims", "ok")

            provider.discovery(.status(503))
            let away = try await doctor(installation, config: file)
            away.expect("identity_provider.reachable", "failed", "answered with status 503")
        }
    }
}
