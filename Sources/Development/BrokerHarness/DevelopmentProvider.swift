import Foundation
import PrivateCluster
import StrictCoding
import Synchronization

/// The development identity provider in a process of its own.
public final class DevelopmentProvider: Sendable {
    public static let redirectURI = "com.example.app:/callback"

    public let port: UInt16
    public var issuer: String { "http://127.0.0.1:\(port)" }
    private let algorithm: String
    private let hashMode: String
    private let apps: [String]
    private let directory: URL
    private let running = Mutex<ManagedProcess?>(nil)

    public struct DidNotStart: Error {
        public let log: String
    }

    /// Chooses a port and starts nothing yet.
    /// - Parameter hashMode: How it computes `ds_hash`.
    public init(algorithm: String, hashMode: String, apps: [String]) throws {
        port = try LoopbackPort.free()
        self.algorithm = algorithm
        self.hashMode = hashMode
        self.apps = apps
        directory = FileManager.default.temporaryDirectory.appending(path: "native-sso-idp-\(Unguessable.make())")
        try FileManager.default.createDirectory(
            at: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    deinit {
        running.withLock { $0?.signal(SIGKILL) }
        try? FileManager.default.removeItem(at: directory)
    }

    /// - Parameter broker: The port of the internal listener that hears of logouts.
    public func start(tellingLogoutsTo broker: UInt16) async throws {
        var json = JSONWriter()
        json.object { json in
            json.member("port", Int64(port))
            json.member("hash_mode", hashMode)
            json.member(
                "clients",
                array: { json in
                    for app in apps {
                        json.object { json in
                            json.member("client_id", app)
                            json.member("redirect_uris", [Self.redirectURI])
                            json.member("backchannel_logout_uri", "http://127.0.0.1:\(broker)/backchannel-logout")
                        }
                    }
                })
        }
        func file(_ name: String) -> String { directory.appending(path: name).path }
        try Data(json.bytes).write(to: directory.appending(path: "configuration.json"))
        let log = directory.appending(path: "log")
        let process = try ManagedProcess(
            try BuildProducts.path(of: "native-sso-dev"),
            [
                "idp", "--configuration", file("configuration.json"), "--signing-key", file("key.pem"), "--users",
                file("users.json"), "--algorithm", algorithm,
            ], log: log)
        running.withLock { $0 = process }
        guard try await process.nextLine() == "ready" else {
            throw DidNotStart(log: (try? String(contentsOf: log, encoding: .utf8)) ?? "")
        }
    }

    public func signal(_ signal: Int32) { running.withLock { $0?.signal(signal) } }

    /// Alice, as an app sends her here.
    public func login(for app: String) -> BrowserLogin {
        BrowserLogin(
            port: port, client: app, redirectURI: Self.redirectURI, username: "alice", password: "alice-demo-password")
    }
}
