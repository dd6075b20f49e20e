import BrokerHarness
import Foundation
import Glibc
import PrivateCluster
import StrictCoding
import Testing

@Suite("native-sso serve, as a process", .timeLimit(.minutes(10)))
struct ServeTests {
    @Test func `the process is hardened, listens for changes of the registry, and a signal stops it gracefully`()
        async throws
    {
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
            // Code that only the start used leaves the memory: it reads nothing but the configuration with this library.
            let file = try #require(FileHandle(forReadingAtPath: "\(process)/smaps"))
            let maps = String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self).split(separator: "\n")
            let code = maps.drop { !$0.contains("/libyaml") || !$0.contains(" r-xp ") }
            let resident = try #require(code.first { $0.hasPrefix("Rss:") })
            #expect(resident.split(separator: " ").dropFirst().first == "0", "\(resident)")
            try await installation.cluster.until(
                """
                SELECT count(*) FROM pg_stat_activity
                WHERE datname = '\(installation.database)' AND query = 'LISTEN "native_sso_registry"';
                """, answers: "1")

            broker.process.signal(SIGINT)
            #expect(await broker.process.exitStatus == 0)
            #expect(try await broker.process.nextLine() == nil)
            #expect(broker.process.errors.contains(#""stopping""#), "\(broker.process.errors)")
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
        try await expectHealthcheck(of: broker, installation)

        try await cluster.createDatabase("later")
        try await broker.wait { try await $0.get("/readyz").text.contains("not_migrated") }
        try await installation.command("migrate", "up")
        try await installation.command("key", "generate")
        try await installation.registerApps()
        try await broker.untilReady()
        // The broker copies clients every few seconds, so the copy may be older than the registration.
        try await broker.wait {
            try await $0.token(try Login(installation, sid: "s").exchange(by: "app2")).status == 200
        }

        try await cluster.kill9()
        try await broker.wait { try await $0.get("/readyz").status == 503 }
        #expect(try await broker.get("/livez").status == 200)
        try await expectOutage(of: broker, installation)
        try await cluster.restart()
        try await broker.untilReady()
        #expect(try await broker.token(try Login(installation, sid: "t").exchange(by: "app2")).status == 200)
        try await cluster.stop()
    }

    /// The answer is 503, never `invalid_grant`: an app must not delete its login because of an outage.
    private func expectOutage(of broker: Broker, _ installation: Installation) async throws {
        let answer = try await broker.token(try Login(installation, sid: "outage").exchange(by: "app2"))
        #expect(answer.status == 503)
        #expect(answer.json?.string("error") == "temporarily_unavailable")
    }

    /// Alive, and not ready.
    private func expectHealthcheck(of broker: Broker, _ installation: Installation) async throws {
        // It connects over loopback to a listener on every address.
        let everywhere = [
            "NATIVE_SSO_INTERNAL_LISTEN": "0.0.0.0:\(broker.internalPort)",
            "NATIVE_SSO_INTERNAL_ALLOW_NON_LOOPBACK": "true", "NATIVE_SSO_DEVELOPMENT": "false",
        ]
        #expect(try await installation.run(["healthcheck"], environment: everywhere).status == 0)
        for words in ["/readyz answers 503", #""name":"database","status":"failed""#] {
            try await installation.expectFailure(["healthcheck", "--ready"], 1, words, environment: everywhere)
        }
        try await installation.expectFailure(
            ["healthcheck"], 2, "port 0", environment: ["NATIVE_SSO_INTERNAL_LISTEN": "127.0.0.1:0"])
    }

    // MARK: Start failures

    @Test func `what keeps it from running ends the start, with words that say what to do`() async throws {
        try await Installation.withSchema { installation in
            let service = installation.serviceEnvironment
            func expectEnd(_ status: Int32, _ words: String, _ more: [String: String] = [:]) async throws {
                try await installation.expectFailure(
                    ["serve"], status, words, environment: service.merging(more) { $1 })
            }
            let first = try await Broker.start(installation)
            let taken = "127.0.0.1:\(first.publicPort)"
            let outcome = try await installation.run(
                ["serve"], environment: service.merging(["NATIVE_SSO_PUBLIC_LISTEN": taken]) { $1 })
            #expect(outcome.status == 3)
            for words in [
                "native-sso: the broker cannot run: it cannot listen on \(taken): ", "Address already in use",
                "; another program has this port: end it, or",
            ] {
                #expect(outcome.errors.contains(words), "\(outcome.errors)")
            }
            try await first.stop()
            if geteuid() == 0 { try await expectEnd(2, "does not run as root", ["NATIVE_SSO_DEVELOPMENT": "false"]) }

            let keys = installation.file("keys")
            try #require(chmod(keys, 0o755) == 0)
            try await expectEnd(3, "type: chmod go= \(keys)")
            try #require(chmod(keys, 0o700) == 0)
            let pem = try #require(
                FileManager.default.contentsOfDirectory(atPath: keys).first { $0.hasSuffix(".pem") })
            try installation.write("no key", to: "keys/\(pem)")
            let damaged = try await installation.run(["serve"], environment: service)
            #expect(damaged.status == 3)
            let line = try #require(damaged.errors.split(separator: "\n").first { $0.hasPrefix("native-sso: ") })
            #expect(line.contains(pem) && line.contains("holds no readable PEM"))
        }
    }

    // MARK: Changes at run time

    @Test func `SIGHUP reads the key files again, and keeps the present keys where a file is damaged`() async throws {
        try await Installation.withSchema { installation in
            try await installation.registerApps()
            let broker = try await installation.startBroker("broker").ready()
            let names = try FileManager.default.contentsOfDirectory(atPath: installation.file("keys"))
            for name in names { try installation.write("no key", to: "keys/\(name)") }
            broker.process.signal(SIGHUP)
            let line = try await broker.process.errorLine(containing: "the present ones stay in use")
            #expect(line?.contains("holds no readable PEM") == true)
            #expect(try await broker.process.errorLine(containing: #""keys were read again""#) != nil)
            #expect(try await broker.get("/readyz").status == 200)
            #expect(try await broker.token(try Login(installation, sid: "s").exchange(by: "app2")).status == 200)
        }
    }
}
