import BrokerHarness
import Foundation
import PrivateCluster
import StrictCoding
import Testing

@Suite("native-sso healthcheck, beside a broker", .timeLimit(.minutes(5)))
struct HealthcheckTests {
    @Test func `a broker without its database is alive and not ready; one with it is both`() async throws {
        try await Installation.withSchema { installation in
            let broker = try await Broker.start(installation)
            try await broker.waitUntilReady()
            let listen = ["NATIVE_SSO_INTERNAL_LISTEN": "127.0.0.1:\(broker.internalPort)"]
            for arguments in [["healthcheck"], ["healthcheck", "--ready", "--json"]] {
                let outcome = try await installation.run(arguments, environment: listen)
                #expect(outcome.status == 0, "\(outcome.errors)")
                #expect(outcome.output.contains(#""status":"#))
            }

            let away = try await Broker.start(
                installation, environment: ["NATIVE_SSO_DATABASE_URL": "postgresql://postgres@127.0.0.1:1/x"])
            let itsListen = ["NATIVE_SSO_INTERNAL_LISTEN": "127.0.0.1:\(away.internalPort)"]
            #expect(try await installation.run(["healthcheck"], environment: itsListen).status == 0)
            let unready = try await installation.run(["healthcheck", "--ready"], environment: itsListen)
            #expect(unready.status == 1)
            #expect(unready.errors.contains("/readyz answers 503"), "\(unready.errors)")
            #expect(unready.errors.contains(#""name":"database","status":"failed""#), "\(unready.errors)")
        }
    }

    @Test func `it connects over loopback to a listener on every address`() async throws {
        try await Installation.withSchema { installation in
            let broker = try await Broker.start(installation)
            let outcome = try await installation.run(
                ["healthcheck"],
                environment: [
                    "NATIVE_SSO_INTERNAL_LISTEN": "0.0.0.0:\(broker.internalPort)",
                    "NATIVE_SSO_INTERNAL_ALLOW_NON_LOOPBACK": "true", "NATIVE_SSO_DEVELOPMENT": "false",
                ])
            #expect(outcome.status == 0, "\(outcome.errors)")
        }
    }

    @Test func `no broker, and a port that is not known, are errors`() async throws {
        try await Installation.withFiles { installation in
            let nobody = try await installation.run(
                ["healthcheck"], environment: ["NATIVE_SSO_INTERNAL_LISTEN": "127.0.0.1:1"])
            #expect(nobody.status == 3)
            #expect(nobody.errors.contains("no answer from http://127.0.0.1:1/livez"), "\(nobody.errors)")
            let unknown = try await installation.run(
                ["healthcheck"], environment: ["NATIVE_SSO_INTERNAL_LISTEN": "127.0.0.1:0"])
            #expect(unknown.status == 2)
            #expect(unknown.errors.contains("port 0"), "\(unknown.errors)")
        }
    }

    @Test func `keys of a directory of links are installed once`() async throws {
        try await Installation.withSchema { installation in
            let (keys, secret) = (installation.file("keys"), installation.file("secret"))
            try FileManager.default.moveItem(atPath: keys, toPath: secret)
            let first = try await installation.succeed("key", "install", "--from", secret)
            #expect(first.contains("installed device.key\n"), "\(first)")
            #expect(
                try await installation.succeed("key", "install", "--from", secret)
                    == "every key file is there already\n")
            let listed = try await installation.object("key", "list")
            #expect(listed.array("keys")?.compactMap { $0.object?.bool("usable_here") } == [true, true, true])
        }
    }
}
