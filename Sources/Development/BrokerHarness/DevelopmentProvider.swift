import Foundation
import PrivateCluster
import StrictCoding
import Synchronization

/// The development identity provider in a process of its own.
package final class DevelopmentProvider: Sendable {
    package static let redirectURI = "com.example.app:/callback"

    package let port: UInt16
    package var issuer: String { "http://127.0.0.1:\(port)" }
    private let algorithm: String
    private let hashMode: String
    private let apps: [String]
    private let directory: URL
    private let running = Mutex<ManagedProcess?>(nil)

    /// Chooses a port and starts nothing yet.
    /// - Parameter hashMode: How it computes `ds_hash`.
    package init(algorithm: String, hashMode: String, apps: [String]) throws {
        port = try LoopbackPort.free()
        self.algorithm = algorithm
        self.hashMode = hashMode
        self.apps = apps
        directory = URL(filePath: try WorkingDirectory(named: "native-sso-idp").path)
    }

    deinit { running.withLock { $0?.signal(SIGKILL) } }

    /// - Parameter broker: The port of the internal listener that hears of logouts.
    package func start(tellingLogoutsTo broker: UInt16) async throws {
        func file(_ name: String) -> String { directory.appending(path: name).path }
        let configuration = ProviderFile(
            port: port, hashMode: hashMode, clients: apps.map { .init($0, redirectURIs: [Self.redirectURI]) },
            logoutURI: "http://127.0.0.1:\(broker)/backchannel-logout")
        try Data(configuration.json).write(to: directory.appending(path: "configuration.json"))
        let process = try ManagedProcess(
            try BuildProducts.path(of: "native-sso-dev"),
            [
                "idp", "--configuration", file("configuration.json"), "--signing-key", file("key.pem"), "--users",
                file("users.json"), "--algorithm", algorithm,
            ], log: directory.appending(path: "log"))
        running.withLock { $0 = process }
        try await process.waitForReadiness("ready", within: .seconds(120))
    }
}

/// The configuration file of the development identity provider.
package struct ProviderFile: Sendable {
    package struct Client: Sendable {
        let id: String
        let redirectURIs: [String]
        let requiresConsent: Bool
        /// Where the browser may go after a logout.
        let logoutURIs: [String]

        package init(
            _ id: String, redirectURIs: [String], requiresConsent: Bool = false, logoutURIs: [String] = []
        ) {
            self.id = id
            self.redirectURIs = redirectURIs
            self.requiresConsent = requiresConsent
            self.logoutURIs = logoutURIs
        }
    }

    var port: UInt16
    var hashMode: String?
    var clients: [Client]
    /// Where the broker hears of logouts.
    var logoutURI: String
    /// Whether it knows nothing of Native SSO.
    package var isPlain = false
    /// The APIs that its access tokens are for.
    package var resources: [(audience: String, scope: String)] = []
    /// Whether `myapp://callback` may be registered.
    package var allowsUndottedSchemes = false

    package init(port: UInt16, hashMode: String? = nil, clients: [Client], logoutURI: String) {
        self.port = port
        self.hashMode = hashMode
        self.clients = clients
        self.logoutURI = logoutURI
    }

    package var json: [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("port", Int64(port))
            if let hashMode { json.member("hash_mode", hashMode) }
            json.member("mode", isPlain ? "plain" : "stamping")
            json.member("undotted_redirect_schemes", allowsUndottedSchemes)
            json.member(
                "resources",
                array: { json in
                    for resource in resources {
                        json.object { json in
                            json.member("audience", resource.audience)
                            json.member("scope", resource.scope)
                        }
                    }
                })
            json.member(
                "clients",
                array: { json in
                    for client in clients {
                        json.object { json in
                            json.member("client_id", client.id)
                            json.member("redirect_uris", client.redirectURIs)
                            json.member("requires_consent", client.requiresConsent)
                            json.member("post_logout_redirect_uris", client.logoutURIs)
                            json.member("backchannel_logout_uri", logoutURI)
                        }
                    }
                })
        }
        return json.bytes
    }
}
