import BrokerHTTP
import Foundation
import Glibc
import Synchronization
import Testing

@testable import native_sso

/// Messages to the service manager: sd_notify(3).
@Suite struct ServiceManagerTests {
    /// The manager's socket.
    private final class Receiver {
        let name: String
        private let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue), 0)

        init(_ name: String) throws {
            self.name = name
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            var octets = Array(name.utf8)
            if octets.first == UInt8(ascii: "@") { octets[0] = 0 }
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: octets) }
            let length = socklen_t(2 + octets.count)
            let result = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
            }
            try #require(result == 0)
        }

        deinit {
            close(descriptor)
            unlink(name)
        }

        /// The messages that have arrived.
        var messages: [String] {
            var all: [String] = []
            var room = [UInt8](repeating: 0, count: 4096)
            while case let count = recv(descriptor, &room, room.count, 0), count > 0 {
                all.append(String(decoding: room.prefix(count), as: UTF8.self))
            }
            return all
        }
    }

    private struct Check: ReadinessCheck {
        let name: String
        let help: StaticString = ""
        let reason: StaticString?

        func problem() async -> StaticString? { reason }
    }

    private static func name() -> String { "/tmp/native-sso-\(UInt32.random(in: 0 ... .max)).sock" }

    @Test(arguments: [name(), "@" + name()]) func aMessageArrives(_ name: String) throws {
        let manager = try #require(ServiceManager(environment: ["NOTIFY_SOCKET": name]))
        // A manager that does not listen yet is ignored.
        manager.send(ServiceManager.ready)
        let receiver = try Receiver(name)
        manager.send(ServiceManager.ready)
        manager.send(ServiceManager.stopping)
        #expect(receiver.messages == ["READY=1", "STOPPING=1\nSTATUS=stopping"])
        // So is one whose name is too long for a socket.
        let long = "/" + String(repeating: "a", count: 200)
        try #require(ServiceManager(environment: ["NOTIFY_SOCKET": long])).send(ServiceManager.ready)
        #expect(receiver.messages == [])
    }

    @Test(arguments: [nil, "", "relative"]) func withoutASocketThereIsNoManager(_ name: String?) {
        #expect(ServiceManager(environment: name.map { ["NOTIFY_SOCKET": $0] } ?? [:]) == nil)
    }

    @Test(
        arguments: [
            ([:], 5000), (["WATCHDOG_USEC": "30000000"], 5000), (["WATCHDOG_USEC": "2000000"], 1000),
            (["WATCHDOG_USEC": "0"], 1), (["WATCHDOG_USEC": "-9223372036854775808"], 1), (["WATCHDOG_USEC": "x"], 5000),
            (["WATCHDOG_USEC": "2000000", "WATCHDOG_PID": "1"], 5000),
            (["WATCHDOG_USEC": "2000000", "WATCHDOG_PID": String(getpid())], 1000),
        ] as [([String: String], Int)])
    func aReportComesTwiceInTheTimeLimit(_ variables: [String: String], _ milliseconds: Int) {
        let environment = variables.merging(["NOTIFY_SOCKET": "/x"]) { $1 }
        #expect(ServiceManager(environment: environment)?.interval == .milliseconds(milliseconds))
    }

    @Test(
        arguments: [
            (nil, "WATCHDOG=1\nSTATUS=ready"), ("unavailable", "WATCHDOG=1\nSTATUS=not ready: database: unavailable"),
        ] as [(StaticString?, String)])
    func aReportNamesTheProblems(_ reason: StaticString?, _ expected: String) async throws {
        let receiver = try Receiver(Self.name())
        let manager = try #require(ServiceManager(environment: ["NOTIFY_SOCKET": receiver.name]))
        let checks = [Check(name: "registry", reason: nil), Check(name: "database", reason: reason)]
        await ServiceManagerReport(manager: manager, checks: checks) {}.run()
        #expect(receiver.messages == [expected])
    }

    @Test func anEventLoopThatHangsKeepsTheReportBack() async throws {
        let receiver = try Receiver(Self.name())
        let manager = try #require(ServiceManager(environment: ["NOTIFY_SOCKET": receiver.name]))
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let (released, release) = AsyncStream.makeStream(of: Void.self)
        let report = ServiceManagerReport(manager: manager, checks: []) {
            begin.finish()
            for await _ in released {}
        }
        async let run: Void = report.run()
        for await _ in begun {}
        #expect(receiver.messages == [])
        release.finish()
        await run
        #expect(receiver.messages == ["WATCHDOG=1\nSTATUS=ready"])
    }
}
