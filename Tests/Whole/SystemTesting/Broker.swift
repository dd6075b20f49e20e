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
