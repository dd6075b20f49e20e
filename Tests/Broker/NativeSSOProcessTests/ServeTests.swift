import BrokerHarness
import Foundation
import Glibc
import JOSE
import PrivateCluster
import StrictCoding
import Testing

@Suite("native-sso serve, as a process", .timeLimit(.minutes(10)))
struct ServeTests {
    @Test func `an app exchanges, refreshes, and is refused when the session has ended`() async throws {
        try await Installation.withSchema { installation in
            try await installation.registerApps()
            let broker = try await Broker.start(installation)
            try await broker.waitUntilReady()

            let login = try Login(installation, sid: "sid-1")
            let exchanged = try await broker.post(login.exchange(by: "app2", scope: "openid orders"))
            #expect(exchanged.status == 200, "\(exchanged.text)")
            let token = try #require(exchanged.json?.string("access_token"))
            let keys = try JSONWebKeySet(document: try await broker.get("/.well-known/jwks.json").body)
            let claims = try CompactJWS(token).verified(by: keys, allowing: [.es256]).claims
            #expect(claims.string("iss") == Installation.issuer)
            #expect(claims.string("sub") == "user-1")
            #expect(claims.string("client_id") == "app2")
            #expect(claims.string("scope") == "openid orders")

            let first = try #require(exchanged.json?.string("refresh_token"))
            let refreshed = try await broker.post(Login.refresh(first, by: "app2"))
            #expect(refreshed.status == 200, "\(refreshed.text)")
            let second = try #require(refreshed.json?.string("refresh_token"))

            let shown = try await installation.object("session", "show", "--sid", "sid-1")
            #expect(shown.object("session")?.string("sub") == "user-1")
            #expect(shown.array("grants")?.count == 1)
            try await installation.succeed(
                "session", "end", "--sid", "sid-1", "--execute", "--reason", "device was stolen")
            for form in [Login.refresh(second, by: "app2"), login.exchange(by: "app2")] {
                let refused = try await broker.post(form)
                #expect(refused.status == 400)
                #expect(refused.json?.string("error") == "invalid_grant")
            }
        }
    }

    @Test func `no secret comes into the log, the arguments or the environment of the process`() async throws {
        try await Installation.withSchema { installation in
            try await installation.registerApps()
            let broker = try await Broker.start(installation)
            try await broker.waitUntilReady()
            let login = try Login(installation, sid: "sid-1")
            let answer = try await broker.post(login.exchange(by: "app2"))
            let refreshToken = try #require(answer.json?.string("refresh_token"))
            let accessToken = try #require(answer.json?.string("access_token"))
            _ = try await broker.post(Login.refresh(refreshToken + "x", by: "app2"))

            let arguments = try String(contentsOfFile: "/proc/\(broker.process.pid)/cmdline", encoding: .utf8)
            broker.process.signal(SIGTERM)
            #expect(await broker.process.exitStatus == 0)
            let log = broker.process.errors
            #expect(log.contains("token request"))
            for secret in [
                login.idToken, login.deviceSecret, refreshToken, accessToken, installation.cluster.password,
            ] {
                #expect(!log.contains(secret))
                #expect(!log.contains(secret.prefix(24)) || secret == installation.cluster.password)
                #expect(!arguments.contains(secret))
            }
        }
    }

    @Test func `it listens for changes of the registry`() async throws {
        try await Installation.withSchema { installation in
            let broker = try await Broker.start(installation)
            let listens = """
                SELECT count(*) FROM pg_stat_activity
                WHERE datname = '\(installation.database)' AND query = 'LISTEN "native_sso_registry"'
                """
            try await broker.wait { _ in try await installation.cluster.psql(listens) == "1\n" }
        }
    }

    @Test func `the process is hardened`() async throws {
        try await Installation.withSchema { installation in
            let broker = try await Broker.start(installation)
            let process = "/proc/\(broker.process.pid)"
            let status = try String(contentsOfFile: "\(process)/status", encoding: .utf8)
            #expect(status.contains("NoNewPrivs:\t1\n"))
            #expect(status.contains("Umask:\t0077\n"))
            let limits = try String(contentsOfFile: "\(process)/limits", encoding: .utf8)
            let cores = try #require(limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") })
            #expect(cores.split(separator: " ").filter { $0 == "0" }.count == 2)
            // The files of an undumpable process belong to root, and its user cannot read them. Root sees the owner.
            let owner = try FileManager.default.attributesOfItem(atPath: "\(process)/mem")[.ownerAccountID] as? Int
            #expect(owner == 0)
        }
    }

    @Test(arguments: [SIGTERM, SIGINT])
    func `a signal stops it gracefully`(signal: Int32) async throws {
        try await Installation.withSchema { installation in
            let broker = try await Broker.start(installation)
            broker.process.signal(signal)
            #expect(await broker.process.exitStatus == 0)
            #expect(try await broker.process.nextLine() == nil)
            #expect(broker.process.errors.contains(#""stopping""#), "\(broker.process.errors)")
        }
    }

    @Test func `code that only the start used leaves the memory`() async throws {
        try await Installation.withSchema { installation in
            let broker = try await Broker.start(installation)
            // It reads the configuration with this library, and nothing else.
            let file = try #require(FileHandle(forReadingAtPath: "/proc/\(broker.pid)/smaps"))
            let maps = String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self).split(separator: "\n")
            let code = maps.drop { !$0.contains("/libyaml") || !$0.contains(" r-xp ") }
            let resident = try #require(code.first { $0.hasPrefix("Rss:") })
            #expect(resident.split(separator: " ").dropFirst().first == "0", "\(resident)")
        }
    }

    // MARK: Outages

    @Test func `it starts without a database, and works when there is one`() async throws {
        let cluster = try await PrivateCluster.start(options: .testing)
        let installation = try Installation(cluster, database: "later")
        let broker = try await Broker.start(
            installation, environment: installation.ownerEnvironment)
        #expect(try await broker.get("/livez").status == 200)
        let ready = try await broker.get("/readyz")
        #expect(ready.status == 503)
        #expect(ready.text.contains(#""name":"database","status":"failed""#))
        try await expectOutage(of: broker, installation)

        try await cluster.createDatabase("later")
        try await installation.succeed("migrate", "up")
        try await installation.succeed("key", "generate")
        try await installation.registerApps()
        try await broker.waitUntilReady()
        // The broker copies clients every few seconds, so the copy may be older than the registration.
        try await broker.wait {
            try await $0.post(try Login(installation, sid: "s").exchange(by: "app2")).status == 200
        }

        try await cluster.kill9()
        try await broker.waitUntilReady(false)
        #expect(try await broker.get("/livez").status == 200)
        try await expectOutage(of: broker, installation)
        try await cluster.restart()
        try await broker.waitUntilReady()
        #expect(try await broker.post(try Login(installation, sid: "t").exchange(by: "app2")).status == 200)
        try await cluster.stop()
    }

    /// The answer is 503, never `invalid_grant`: an app must not delete its login because of an outage.
    private func expectOutage(of broker: Broker, _ installation: Installation) async throws {
        let answer = try await broker.post(try Login(installation, sid: "outage").exchange(by: "app2"))
        #expect(answer.status == 503)
        #expect(answer.json?.string("error") == "temporarily_unavailable")
    }

    @Test func `without a schema it is not ready, and is as soon as there are schema and keys`() async throws {
        try await Installation.withFiles { installation in
            let broker = try await Broker.start(
                installation, environment: installation.ownerEnvironment)
            let before = try await broker.get("/readyz")
            #expect(before.status == 503)
            #expect(before.text.contains("not_migrated"))
            try await installation.succeed("migrate", "up")
            try await installation.succeed("key", "generate")
            try await broker.waitUntilReady()
        }
    }

    // MARK: Start failures

    @Test func `a damaged key file ends the start with one line that says what to do`() async throws {
        try await Installation.withSchema { installation in
            let names = try FileManager.default.contentsOfDirectory(atPath: installation.file("keys"))
            let pem = try #require(names.first { $0.hasSuffix(".pem") })
            try installation.write("no key", to: "keys/\(pem)")
            let outcome = try await installation.run(["serve"], environment: installation.serviceEnvironment)
            #expect(outcome.status == 3)
            let line = try #require(outcome.errors.split(separator: "\n").first { $0.hasPrefix("native-sso: ") })
            #expect(line.contains(pem) && line.contains("holds no readable PEM"))
        }
    }

    @Test func `a key directory that others may enter ends the start`() async throws {
        try await Installation.withSchema { installation in
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o755], ofItemAtPath: installation.file("keys"))
            let outcome = try await installation.run(["serve"], environment: installation.serviceEnvironment)
            #expect(outcome.status == 3)
            #expect(outcome.errors.contains("type: chmod go= \(installation.file("keys"))"))
        }
    }

    @Test func `a wrong configuration ends the start`() async throws {
        try await Installation.withSchema { installation in
            try installation.write("issuer: 7\n", to: "administration.yaml")
            let outcome = try await installation.run(["serve"])
            #expect(outcome.status == 2)
            #expect(outcome.output.isEmpty)
        }
    }

    @Test func `a credential that systemd did not pass ends the start`() async throws {
        try await Installation.withSchema { installation in
            let outcome = try await installation.run(
                ["serve"], environment: ["NATIVE_SSO_DATABASE_PASSWORD_FILE": "credential:database-password"])
            #expect(outcome.status == 2)
            #expect(outcome.errors.contains("NATIVE_SSO_DATABASE_PASSWORD_FILE: "), "\(outcome.errors)")
            #expect(outcome.errors.contains("credential"), "\(outcome.errors)")
        }
    }

    @Test func `a port that is taken ends the start`() async throws {
        try await Installation.withSchema { installation in
            let first = try await Broker.start(installation)
            let outcome = try await installation.run(
                ["serve"],
                environment: installation.serviceEnvironment.merging(
                    ["NATIVE_SSO_PUBLIC_LISTEN": "127.0.0.1:\(first.publicPort)"]) { $1 })
            #expect(outcome.status == 3)
            let said = "native-sso: the broker cannot run: it cannot listen on 127.0.0.1:\(first.publicPort): "
            #expect(outcome.errors.contains(said), "\(outcome.errors)")
            #expect(outcome.errors.contains("Address already in use"), "\(outcome.errors)")
            #expect(outcome.errors.contains("; another program has this port: end it, or"), "\(outcome.errors)")
        }
    }

    @Test func `a Unix socket is its broker's until that has ended, however it did`() async throws {
        try await Installation.withSchema { installation in
            let path = "/tmp/native-sso-\(UInt32.random(in: 0...UInt32.max)).sock"
            defer { unlink(path + ".lock") }
            let environment = installation.serviceEnvironment.merging(
                ["NATIVE_SSO_PUBLIC_LISTEN": "unix:\(path)", "NATIVE_SSO_INTERNAL_LISTEN": "127.0.0.1:0"]
            ) { $1 }
            func start() async throws -> ManagedProcess {
                let program = try ManagedProcess(
                    try BuildProducts.path(of: "native-sso"),
                    ["serve", "--config", installation.file("native-sso.yaml")], environment: environment,
                    log: URL(filePath: installation.file("serve-\(Unguessable.make().prefix(8)).log")))
                try #require(
                    try await program.errorLine(containing: #""listening""#) != nil, "\(program.errors)")
                return program
            }
            let first = try await start()
            let outcome = try await installation.run(["serve"], environment: environment)
            #expect(outcome.status == 3)
            let said = "it cannot listen on unix:\(path): another process listens there, and holds \(path).lock"
            #expect(outcome.errors.contains(said), "\(outcome.errors)")
            first.signal(SIGKILL)
            _ = await first.exitStatus
            #expect(access(path, F_OK) == 0)
            let second = try await start()
            second.signal(SIGTERM)
            #expect(await second.exitStatus == 0)
            #expect(access(path, F_OK) != 0)
        }
    }

    @Test(.enabled(if: geteuid() == 0, "only root can be refused for being root"))
    func `root is refused outside development`() async throws {
        try await Installation.withSchema { installation in
            let outcome = try await installation.run(
                ["serve"],
                environment: installation.serviceEnvironment.merging(["NATIVE_SSO_DEVELOPMENT": "false"]) { $1 })
            #expect(outcome.status == 2)
            #expect(outcome.errors.contains("does not run as root"))
        }
    }

    // MARK: Changes at run time

    @Test func `a client that is disabled is refused within seconds`() async throws {
        try await Installation.withSchema { installation in
            try await installation.registerApps()
            let broker = try await Broker.start(installation)
            try await broker.waitUntilReady()
            let login = try Login(installation, sid: "sid-1")
            #expect(try await broker.post(login.exchange(by: "app2")).status == 200)
            try await installation.succeed("client", "disable", "app2", "--execute", "--reason", "test")
            // This does not depend on the refresh interval: the statement that grants reads the client again.
            #expect(try await broker.post(login.exchange(by: "app2")).status == 400)
        }
    }

    @Test func `a new key is published before it signs`() async throws {
        try await Installation.withSchema { installation in
            try await installation.registerApps()
            let broker = try await Broker.start(installation)
            try await broker.waitUntilReady()
            let made = try await installation.object("key", "generate", "--use", "access-token")
            let row = try #require(made.array("keys")?.first?.object)
            #expect(row.string("state") == "published")
            let kid = try #require(row.string("kid"))
            try await broker.wait { try await $0.get("/.well-known/jwks.json").text.contains(kid) }
            let exported = try JSONWebKeySet(document: Array(try await installation.succeed("jwks", "export").utf8))
            #expect(exported.keys.count == 2)
            let answer = try await broker.post(try Login(installation, sid: "s").exchange(by: "app2"))
            let token = try CompactJWS(try #require(answer.json?.string("access_token")))
            #expect(token.header.keyID != kid)
        }
    }

    @Test func `SIGHUP reads the key files again, and keeps the present keys where a file is damaged`() async throws {
        try await Installation.withSchema { installation in
            try await installation.registerApps()
            let broker = try await Broker.start(installation)
            try await broker.waitUntilReady()
            let names = try FileManager.default.contentsOfDirectory(atPath: installation.file("keys"))
            for name in names { try installation.write("no key", to: "keys/\(name)") }
            broker.process.signal(SIGHUP)
            let line = try await broker.process.errorLine(containing: "the present ones stay in use")
            #expect(line?.contains("holds no readable PEM") == true)
            #expect(try await broker.process.errorLine(containing: #""keys were read again""#) != nil)
            #expect(try await broker.get("/readyz").status == 200)
            #expect(try await broker.post(try Login(installation, sid: "s").exchange(by: "app2")).status == 200)
        }
    }
}
