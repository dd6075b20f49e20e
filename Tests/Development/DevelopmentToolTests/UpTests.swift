import Foundation
import StrictCoding
import BrokerHarness
import Testing

/// `native-sso-dev up` as a process of its own: nothing is left of it, however it ends.
@Suite(.serialized, .timeLimit(.minutes(10))) struct UpTests {
    @Test(arguments: [SIGTERM, SIGINT, SIGKILL])
    func nothingIsLeft(_ signal: Int32) async throws {
        let run = try await DevelopmentRun()
        let directory = try run.text("directory")
        let pids = try Self.pids(of: run)
        #expect(pids.count == 6)
        #expect(pids.allSatisfy(ManagedProcess.isAlive))
        run.process.signal(signal)
        let status = await run.process.exitStatus
        #expect(status == (signal == SIGKILL ? 128 + SIGKILL : 0))
        // An orderly end has waited for all of it; a killed one leaves that to others.
        if signal == SIGKILL {
            try await Self.wait { !pids.contains(where: ManagedProcess.isAlive) && !Self.exists(directory) }
        }
        #expect(pids.filter(ManagedProcess.isAlive).isEmpty)
        #expect(!Self.exists(directory))
    }

    @Test func aFrozenProviderDoesNotKeepItFromEnding() async throws {
        let run = try await DevelopmentRun()
        let provider = try run.pid(of: "identity_provider")
        kill(provider, SIGSTOP)
        #expect(await run.process.terminate(within: .seconds(200)) == 0)
        #expect(!ManagedProcess.isAlive(provider))
    }

    @Test func whatIsKeptStays() async throws {
        let directory = NSTemporaryDirectory() + "kept-\(UInt32.random(in: 0...UInt32.max))"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let run = try await DevelopmentRun("--directory", directory, "--keep")
        #expect(try run.text("directory") == directory)
        #expect(await run.process.terminate(within: .seconds(200)) == 0)
        #expect(Self.exists(directory + "/identity-provider/signing-key.pem"))
        #expect(Self.exists(directory + "/logs/broker.log"))
    }

    @Test func aDirectoryWithSomethingInItIsRefused() async throws {
        let result = try await ManagedProcess.run(
            try BuildProducts.path(of: "native-sso-dev"), ["up", "--port-base", "0", "--directory", "/usr"])
        #expect(result.status == 1)
        #expect(result.errors.contains("/usr holds something already"))
    }

    private static func pids(of run: DevelopmentRun) throws -> [Int32] {
        let objects =
            ["identity_provider", "plain_identity_provider", "broker"].compactMap { run.description.object($0) }
            + (run.description.array("servers") ?? []).compactMap(\.object)
        let postmaster = try String(
            contentsOfFile: run.text("directory") + "/postgresql/data/postmaster.pid", encoding: .utf8)
        return objects.compactMap { $0.number("pid")?.int64 }.compactMap(Int32.init(exactly:))
            + postmaster.split(separator: "\n").prefix(1).compactMap { Int32($0) }
    }

    private static func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

    /// Looks again until it is so; the time limit of the suite ends a wait in vain.
    private static func wait(until condition: () -> Bool) async throws {
        while !condition() { try await Task.sleep(for: .milliseconds(20)) }
    }
}
