public import Foundation
import PrivateCluster
import Synchronization

/// One running broker.
public final class Broker: Sendable {
    public let publicPort: UInt16
    public let internalPort: UInt16
    public let log: URL
    private let configuration: URL
    private let environment: [String: String]
    private let running: Mutex<ManagedProcess>

    /// Starts one on ports that win over those of its configuration.
    public convenience init(configuration: URL, log: URL) throws {
        let (publicPort, internalPort) = (try LoopbackPort.free(), try LoopbackPort.free())
        try self.init(
            configuration: configuration, publicPort: publicPort, internalPort: internalPort, log: log,
            environment: [
                "NATIVE_SSO_PUBLIC_LISTEN": "127.0.0.1:\(publicPort)",
                "NATIVE_SSO_INTERNAL_LISTEN": "127.0.0.1:\(internalPort)",
            ])
    }

    private init(
        configuration: URL, publicPort: UInt16, internalPort: UInt16, log: URL, environment: [String: String]
    ) throws {
        self.configuration = configuration
        self.environment = environment
        self.publicPort = publicPort
        self.internalPort = internalPort
        self.log = log
        running = Mutex(try Self.launch(configuration, environment, log))
    }

    deinit { running.withLock { $0.signal(SIGKILL) } }

    public var process: ManagedProcess { running.withLock { $0 } }

    /// Starts it again, on the same ports, after its process has ended.
    public func restart() throws {
        let process = try Self.launch(configuration, environment, log)
        running.withLock { $0 = process }
    }

    public struct HasEnded: Error {
        public let log: String
    }

    /// Waits until it says that it can serve; in vain if it has ended.
    public func untilReady() async throws {
        _ = try await eventually("the broker is ready") { [self] in
            guard process.isRunning else { throw HasEnded(log: String((try? logText())?.suffix(1000) ?? "")) }
            return try await readiness() == 200 ? true : nil
        }
    }

    /// Waits until it accepts connections, ready or not.
    public func untilAlive() async throws {
        _ = try await eventually("the broker is alive") { [self] in
            (try? await HTTPRequest("GET", "/livez").send(to: internalPort))?.status == 200 ? true : nil
        }
    }

    /// Status of `/readyz`; `nil` where nobody listens.
    public func readiness() async throws -> Int? {
        try? await HTTPRequest("GET", "/readyz").send(to: internalPort).status
    }

    /// Sends one token request over a connection of its own.
    public func token(_ form: TokenForm) async throws -> HTTPAnswer {
        try await HTTPRequest.token(form.parameters).send(to: publicPort)
    }

    /// Everything it has logged, over all its lives.
    public func logText() throws -> String { try String(contentsOf: log, encoding: .utf8) }

    private static func launch(
        _ configuration: URL, _ environment: [String: String], _ log: URL
    ) throws -> ManagedProcess {
        try ManagedProcess(
            try BuildProducts.path(of: "native-sso"), ["serve", "--config", configuration.path],
            environment: environment, log: log)
    }
}

extension Broker {
    /// Sends one token request, and again while the broker says that it cannot do its work just now, as an app would: on a
    /// busy machine, whoever comes last in a crowd is told so.
    public func settledToken(_ form: TokenForm) async throws -> HTTPAnswer {
        try await eventually("an answer that is no outage") {
            let answer = try await token(form)
            return answer.status == 503 && answer.error == "temporarily_unavailable" ? nil : answer
        }
    }
}

/// Waits until something is so, where nobody tells of the moment in which it becomes so.
///
/// - Parameters:
///   - limit: Generous: it bounds a failing test, never a passing one.
///   - pause: Between two looks; longer where looking is counted.
/// - Returns: The first value that is not `nil`.
public func eventually<Value: Sendable>(
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

public struct NeverHappened: Error, CustomStringConvertible {
    let what: String
    public var description: String { "it never happened: \(what)" }
}
