package import Foundation
import Glibc
import PrivateCluster
import Synchronization

/// One running broker.
package final class Broker: Sendable {
    package let publicPort: UInt16
    package let internalPort: UInt16
    package let log: URL
    private let configuration: URL
    private let environment: [String: String]
    private let running: Mutex<ManagedProcess>

    /// Starts one on ports that win over those of its configuration.
    /// - Parameters:
    ///   - ports: Free ones by default.
    ///   - environment: Settings that win over its configuration.
    package init(
        configuration: URL, log: URL, ports: (public: UInt16, internal: UInt16)? = nil,
        environment: [String: String] = [:]
    ) throws {
        (publicPort, internalPort) = try ports ?? (LoopbackPort.free(), LoopbackPort.free())
        self.configuration = configuration
        self.environment = [
            "NATIVE_SSO_PUBLIC_LISTEN": "127.0.0.1:\(publicPort)",
            "NATIVE_SSO_INTERNAL_LISTEN": "127.0.0.1:\(internalPort)",
        ].merging(environment) { $1 }
        self.log = log
        running = Mutex(try Self.launch(configuration, self.environment, log))
    }

    deinit { running.withLock { $0.signal(SIGKILL) } }

    package var process: ManagedProcess { running.withLock { $0 } }

    package var pid: Int32 { process.pid }

    /// Starts it again, on the same ports, after its process has ended.
    /// - Parameter program: Another release of it.
    package func restart(as program: String? = nil) throws {
        let process = try Self.launch(configuration, environment, log, program)
        running.withLock { $0 = process }
    }

    /// Asks it to end and waits for the end.
    /// - Throws: ``ManagedProcess/Failure`` if it has not ended after a minute and was killed.
    package func stop() async throws {
        guard await process.terminate() == 128 + SIGKILL else { return }
        throw await process.ended(because: "did not end within 60 s of SIGTERM, and was killed")
    }

    /// Waits until it says that it can serve.
    /// - Parameter pause: Between two requests.
    package func untilReady(every pause: Duration = .milliseconds(10)) async throws {
        _ = try await eventually("the broker is ready", every: pause) { [self] in
            guard process.isRunning else { throw await process.ended(because: "has ended") }
            return try await readiness() == 200 ? true : nil
        }
    }

    /// This broker, once it says that it can serve.
    package func ready() async throws -> Broker {
        try await untilReady()
        return self
    }

    /// Waits until it accepts connections, ready or not.
    package func untilAlive() async throws {
        _ = try await eventually("the broker is alive") { [self] in
            guard process.isRunning else { throw await process.ended(because: "has ended") }
            return (try? await get("/livez"))?.status == 200 ? true : nil
        }
        // The listeners are bound at the same time, in no order.
        _ = try await eventually("the public listener is bound") { [self] in
            do {
                return try await HTTPRequest("GET", "/").send(to: publicPort).status > 0
            } catch HTTPFailure.refused {
                guard process.isRunning else { throw await process.ended(because: "has ended") }
                return nil
            }
        }
    }

    /// Asks the internal listener.
    package func get(_ path: String) async throws -> HTTPAnswer {
        try await HTTPRequest("GET", path).send(to: internalPort)
    }

    /// Status of `/readyz`; `nil` if the request fails.
    package func readiness() async throws -> Int? {
        try? await get("/readyz").status
    }

    /// Sends one token request over a connection of its own.
    package func token(_ form: TokenForm) async throws -> HTTPAnswer {
        try await HTTPRequest.token(form.parameters).send(to: publicPort)
    }

    /// Everything it has logged, over all its lives.
    package func logText() throws -> String { try String(contentsOf: log, encoding: .utf8) }

    /// The lines of its log that contain a text. Only they become characters: a log can be long.
    package func logLines(with text: String) throws -> [String] {
        let octets = try Data(contentsOf: log) + [0]
        return octets.withUnsafeBytes { (octets: UnsafeRawBufferPointer) in
            guard let log = octets.assumingMemoryBound(to: CChar.self).baseAddress else { return [] }
            var (lines, rest): ([String], UnsafePointer<CChar>) = ([], log)
            while let found = strstr(rest, text) {
                let isNewline = { $0 == CChar(bitPattern: UInt8(ascii: "\n")) }
                var start = UnsafePointer(found)
                while start > rest, !isNewline(start[-1]) { start -= 1 }
                rest = UnsafePointer(strchr(found, Int32(UInt8(ascii: "\n"))) ?? found + strlen(found))
                lines.append(
                    String(decoding: UnsafeRawBufferPointer(start: start, count: rest - start), as: UTF8.self))
            }
            return lines
        }
    }

    private static func launch(
        _ configuration: URL, _ environment: [String: String], _ log: URL, _ program: String? = nil
    ) throws -> ManagedProcess {
        try ManagedProcess(
            try program ?? BuildProducts.path(of: "native-sso"), ["serve", "--config", configuration.path],
            name: "the broker",
            environment: environment, log: log)
    }
}

extension Broker {
    /// Sends one token request and, like an app, retries it while the broker answers 503 `temporarily_unavailable`.
    /// A burst on a busy machine can cause that answer.
    package func settledToken(_ form: TokenForm) async throws -> HTTPAnswer {
        try await eventually("an answer that is no outage") {
            let answer = try await token(form)
            return answer.status == 503 && answer.error == "temporarily_unavailable" ? nil : answer
        }
    }
}

/// Polls until a condition holds.
///
/// - Parameters:
///   - limit: Generous: it bounds a failing test, never a passing one.
///   - pause: Between two looks; longer where looking is counted.
/// - Returns: The first value that is not `nil`.
package func eventually<Value: Sendable>(
    _ what: String, within limit: Duration = .seconds(30), every pause: Duration = .milliseconds(10),
    _ look: () async throws -> Value?
) async throws -> Value {
    let deadline = ContinuousClock.now + limit
    while true {
        if let value = try await look() { return value }
        guard ContinuousClock.now < deadline else { throw NeverHappened(what: what) }
        try await Task.sleep(for: pause)
    }
}

package struct NeverHappened: Error, CustomStringConvertible {
    let what: String
    package var description: String { "it never happened: \(what)" }
}
